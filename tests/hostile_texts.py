"""Texts that would do harm where a page takes them for more than text: each tries to set window.hacked or to
fetch something from elsewhere."""

SET = "window.hacked=1"
HOSTILE = [
    f"<script>{SET}</script>", f"</script><script>{SET}</script>", f"<img src=x onerror={SET}>",
    f"<svg onload={SET}>", f"<svg><script>{SET}</script></svg>", f"\"><script>{SET}</script>",
    f"'><img src=x onerror={SET}>", f"<iframe srcdoc='<script>parent.{SET}</script>'></iframe>",
    f"<iframe src=javascript:{SET}></iframe>", f"<body onload={SET}>", f"<a href=javascript:{SET}>x</a>",
    f"<math><mi xlink:href=javascript:{SET}>", f"<details open ontoggle={SET}>", f"<video><source onerror={SET}>",
    f"<audio src=x onerror={SET}>", f"<input autofocus onfocus={SET}>", f"<select autofocus onfocus={SET}>",
    f"<marquee onstart={SET}>", f"<object data=javascript:{SET}>", f"<embed src=javascript:{SET}>",
    f"<form action=javascript:{SET}><button autofocus>x</button></form>", "<style>@import 'http://192.0.2.1/a.css';</style>",
    "<link rel=stylesheet href=http://192.0.2.1/b.css>", "<img src=http://192.0.2.1/c.png>",
    "<meta http-equiv=refresh content='0;url=http://192.0.2.1/'>", "<base href=http://192.0.2.1/>",
    f"<template><script>{SET}</script></template>", f"<noscript><p title=\"</noscript><img src=x onerror={SET}>\">",
    f"<!--<img src=\"--><img src=x onerror={SET}//\">", f"<![CDATA[<img src=x onerror={SET}>]]>",
    f"javascript:{SET}", f"data:text/html,<script>{SET}</script>", f"${{{SET}}}", f"{{{{constructor.constructor('{SET}')()}}}}",
    f"`;{SET};//", f"';{SET};//", f"\";{SET};//", f"\\\";{SET};//", f"*/{SET};/*", f"</style><script>{SET}</script>",
    f"</title><script>{SET}</script>", f"</textarea><script>{SET}</script>", f"<!--</script><script>{SET}-->",
    f"\u2028{SET}\u2029", "\n\nevent: job\ndata: {}\n\n", "\r\n\r\nHTTP/1.1 200 OK\r\n\r\n<b>x</b>",
    f"&lt;script&gt;{SET}&lt;/script&gt;", f"\x00<script>{SET}</script>", f"\u202e<script>{SET}</script>\ufeff",
    "__proto__", "constructor", "<p style='background:url(http://192.0.2.1/d)'>", "\x1b[31m<b>red</b>\x07",
]
assert len(HOSTILE) >= 50
