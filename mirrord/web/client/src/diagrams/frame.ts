// The program of the frame that draws diagrams, in an origin of its own. It answers with the picture or the reason why there is none.
import mermaid from 'mermaid'
import type { Asked, Drawing } from './drawing'

const LIMITS = { maxTextSize: 20_000, maxEdges: 500 } // letters, lines between boxes

window.addEventListener('message', async ({ data, ports, source }: MessageEvent<Asked>) => {
  if (source === window.parent) ports[0]?.postMessage(await drawingOf(data))
})

async function drawingOf({ code, isDark }: Asked): Promise<Drawing> {
  mermaid.initialize({
    ...{ ...LIMITS, startOnLoad: false, securityLevel: 'strict', suppressErrorRendering: true, htmlLabels: false },
    ...{ theme: isDark ? 'dark' : 'default', fontFamily: 'system-ui, sans-serif', deterministicIds: true },
    secure: ['secure', 'securityLevel', 'startOnLoad', 'suppressErrorRendering', 'htmlLabels', ...Object.keys(LIMITS)],
  })
  try {
    return { svg: standalone((await mermaid.render('diagram', code)).svg) }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  } finally {
    document.body.replaceChildren()
  }
}

/** The picture as a file, as large as it was drawn. */
function standalone(html: string): string {
  const svg = new DOMParser().parseFromString(html, 'text/html').querySelector('svg')!
  const [, , width, height] = (svg.getAttribute('viewBox') ?? '').split(/[\s,]+/).map(Number)
  if (width && height) {
    svg.setAttribute('width', String(Math.ceil(width)))
    svg.setAttribute('height', String(Math.ceil(height)))
    svg.style.maxWidth = ''
  }
  return new XMLSerializer().serializeToString(svg)
}
