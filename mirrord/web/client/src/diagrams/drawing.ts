// Lets diagrams be drawn by a frame in an origin of its own, without network: what a diagram says reaches nothing of the page.
import { element } from '../dom'
import { DIAGRAM } from '../words'

/** What the frame is asked for. */
export interface Asked {
  code: string
  isDark: boolean
}

/** The picture, or the reason why there is none. */
export type Drawing = { svg: string } | { error: string }

const PATIENCE = 15_000 // ms for one diagram, with the time that its program needs to load
const MOST_KEPT = 100 // drawings

const drawings = new Map<string, Promise<Drawing>>()
let last: Promise<unknown> = Promise.resolve()
let opened: Promise<Window> | null = null

/** The drawing of *code*. One is drawn at a time, and what was drawn last is kept. */
export function draw(asked: Asked): Promise<Drawing> {
  const key = JSON.stringify(asked)
  const known = drawings.get(key)
  if (known) return known
  const drawing = last.then(() => drawn(asked)).catch((): Drawing => {
    drawings.delete(key)
    close()
    return { error: DIAGRAM.late }
  })
  last = drawing
  drawings.set(key, drawing)
  if (drawings.size > MOST_KEPT) drawings.delete(drawings.keys().next().value!)
  return drawing
}

/** Rejects if no answer comes. */
function drawn(asked: Asked): Promise<Drawing> {
  return new Promise((resolve, reject) => {
    const { port1, port2 } = new MessageChannel()
    const end = setTimeout(reject, PATIENCE)
    port1.onmessage = ({ data }: MessageEvent<Drawing>) => {
      clearTimeout(end)
      port1.close()
      resolve(data)
    }
    opened ??= open()
    // Its origin is none that could be named.
    void opened.then((frame) => frame.postMessage(asked, '*', [port2]))
  })
}

const frames = () => document.querySelectorAll('iframe.mirrord-drawing')

function open(): Promise<Window> {
  const src = String(new URL('./diagrams.html', import.meta.url))
  const frame = element('iframe', { class: 'mirrord-drawing', sandbox: 'allow-scripts', src, title: DIAGRAM.name, tabindex: -1 })
  frame.setAttribute('aria-hidden', 'true')
  const loaded = new Promise<Window>((resolve) => frame.addEventListener('load', () => resolve(frame.contentWindow!)))
  document.body.append(frame)
  return loaded
}

function close(): void {
  for (const frame of frames()) frame.remove()
  opened = null
}
