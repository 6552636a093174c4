/// How pages look: one style for screens, phones and paper, light and dark; nothing is loaded, no script runs.
enum PageStyle {
    /// Up to the title, which comes next.
    static let head = """
        <!DOCTYPE html>
        <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <style>
        :root{--ink:#1c2430;--paper:#fff;--line:#d8dee6;--soft:#5b6675;--here:#1a7f5a;--deaf:#b9560f}
        @media (prefers-color-scheme:dark){:root{--ink:#e8ecf1;--paper:#14181e;--line:#333c48;--soft:#9aa6b5;--here:#3fc38f;\
        --deaf:#f0a05a}}
        body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.4 system-ui,sans-serif}
        main{max-width:1200px;margin:0 auto;padding:1rem}
        h1{font-size:1.4rem;margin:0}h2{font-size:1.05rem;margin:1.6rem 0 .4rem}
        .range{color:var(--soft);margin:.2rem 0 1rem}
        .alarm{border-left:.4rem solid var(--deaf);padding:.3rem .8rem;margin:.6rem 0;font-weight:600}
        .unsure td{color:var(--soft)}
        .key{display:inline-block;width:1.2em;height:.8em;vertical-align:baseline;margin-left:.5em}
        .key.here{background:var(--here)}
        .key.most,path.most{background:var(--here);fill:var(--here);opacity:.35}
        .curve svg{height:9rem}h3{font-size:.9rem;margin:.8rem 0 .2rem;color:var(--soft);font-weight:500}
        .week{font-size:.75rem}.week td{text-align:center;padding:.2rem;\
        background:color-mix(in srgb,var(--here) var(--share,0%),var(--paper))}.week .unsure{color:var(--soft)}
        .key.deaf{background:var(--deaf);opacity:.75}
        .row{display:grid;grid-template-columns:11rem 1fr;align-items:center;border-bottom:1px solid var(--line);\
        break-inside:avoid}
        .name{overflow-wrap:anywhere;line-height:1.2;padding:.25rem .5rem .25rem 0;font-weight:600}
        .beacon .name,.adapter .name{font-weight:400;padding-left:.8rem}.adapter .name{color:var(--deaf)}
        .row svg{width:100%;height:1.3rem;display:block}
        .here{fill:var(--here)}.open{stroke:var(--here);stroke-width:3;vector-effect:non-scaling-stroke}
        .deaf{fill:var(--deaf);opacity:.75}.adapter .deaf{opacity:.8}
        .axis{position:sticky;top:0;background:var(--paper);z-index:1}
        .ticks{position:relative;height:1.4rem;overflow:hidden}.ticks .day{font-weight:600}
        .ticks span{position:absolute;border-left:1px solid var(--soft);padding-left:.25em;font-size:.75rem;\
        color:var(--soft);white-space:nowrap}
        table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
        th,td{text-align:left;padding:.2rem .6rem .2rem 0;border-bottom:1px solid var(--line)}
        th{color:var(--soft);font-weight:500}
        .onpaper{display:none}
        header{max-width:1200px;margin:0 auto;padding:.7rem 1rem 0}nav a{display:inline-block;margin-right:1rem;padding:.25rem 0}
        form{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:end;margin:.5rem 0}label{font-size:.85rem;color:var(--soft)}
        input,button{font:inherit;color:inherit;background:var(--paper);border:1px solid var(--soft);border-radius:.25rem;\
        padding:.25rem .5rem;max-width:100%}
        pre{font:.9rem/1.5 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}.facts th{width:12rem}
        @media (max-width:900px){.week{display:block;overflow-x:auto}}
        @media (max-width:640px){.rare{display:none}main{padding:.7rem}.row{grid-template-columns:1fr}.axis .name{display:none}.name{padding-bottom:0}\
        table{font-size:.8rem;display:block;overflow-x:auto}}
        @media print{*{print-color-adjust:exact;-webkit-print-color-adjust:exact}.axis{position:static}main{max-width:none;\
        padding:0}body{font-size:11px}.name{padding:.1rem .5rem .1rem 0}.row svg{height:1rem}tr{break-inside:avoid}header{display:none}\
        .list{display:none}.onpaper{display:block}}
        </style>

        """
}
