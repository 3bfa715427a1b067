"""Pod Security Admission of a namespace whose label asks for the level `restricted`: what the API server refuses of
a pod (kubernetes.io, Pod Security Standards; k8s.io/pod-security-admission, policy/check_*.go, whose words these are)."""

from api_objects import Refusal

LABEL = "pod-security.kubernetes.io/enforce"
VOLUMES = ("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected", "secret")


def of_container(pod_context, container):
    context = container.get("securityContext", {})
    name = container["name"]

    def either(key):
        return context.get(key, pod_context.get(key))
    if context.get("allowPrivilegeEscalation") is not False:
        yield f'allowPrivilegeEscalation != false (container "{name}" must set securityContext.allowPrivilegeEscalation=false)'
    capabilities = context.get("capabilities", {})
    if capabilities.get("drop") != ["ALL"] or set(capabilities.get("add", [])) - {"NET_BIND_SERVICE"}:
        yield f'unrestricted capabilities (container "{name}" must set securityContext.capabilities.drop=["ALL"])'
    if either("runAsNonRoot") is not True:
        yield f'runAsNonRoot != true (pod or container "{name}" must set securityContext.runAsNonRoot=true)'
    if either("runAsUser") == 0:
        yield f'runAsUser=0 (container "{name}" must not set runAsUser=0)'
    if (either("seccompProfile") or {}).get("type") not in ("RuntimeDefault", "Localhost"):
        yield (f'seccompProfile (pod or container "{name}" must set securityContext.seccompProfile.type to "RuntimeDefault" '
               'or "Localhost")')


def violations(pod):
    spec = pod["spec"]
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get(key):
            yield f"host namespaces ({key}=true)"
    for volume in spec.get("volumes", []):
        if not any(kind in volume for kind in VOLUMES):
            yield f'restricted volume types (volume "{volume["name"]}")'
    for container in spec["containers"] + spec.get("initContainers", []):
        yield from of_container(spec.get("securityContext", {}), container)


def refusal(objects, namespace, pod):
    """None: the pod is taken."""
    labels = (objects.find("namespaces", None, namespace) or {}).get("metadata", {}).get("labels", {})
    found = list(violations(pod)) if labels.get(LABEL) == "restricted" else []
    if not found:
        return None
    return Refusal(403, "Forbidden", f'pods "{pod["metadata"]["name"]}" is forbidden: violates PodSecurity '
                                     f'"restricted:latest": {", ".join(found)}')
