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

const PATIENCE = 15_000 // ms for one diagram
const LOADING = 120_000 // ms for the program, which a busy machine needs before the first
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
async function drawn(asked: Asked): Promise<Drawing> {
  opened ??= open()
  const frame = await within(LOADING, opened)
  const { port1, port2 } = new MessageChannel()
  const answer = new Promise<Drawing>((resolve) => (port1.onmessage = ({ data }: MessageEvent<Drawing>) => resolve(data)))
  frame.postMessage(asked, '*', [port2]) // its origin is none that could be named
  return within(PATIENCE, answer).finally(() => port1.close())
}

/** What *wanted* becomes; rejects if that takes longer. */
function within<T>(milliseconds: number, wanted: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = setTimeout(reject, milliseconds)
    void wanted.then(resolve).finally(() => clearTimeout(end))
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
