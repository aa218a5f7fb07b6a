// Of a long page only the blocks near the window and the cursor are laid out. The heights of the others are measured once,
// part by part while the browser rests: then the page is as long as with all blocks laid out, and what is scrolled to stays.
import type { EditorView } from '@tiptap/pm/view'
import { whenIdle } from '../dom'

const LONG = 15_000 // positions; a shorter page is laid out wholly after its first frame
const PART = 40_000 // positions that are laid out in one frame to measure them
const NEAR = 60 // blocks before and behind the cursor, where a key may take it
const ENDS = 3 // blocks at both ends of the page, where a key may take it, too
const STILL = 400 // ms without a key, before blocks are measured: a key has the window for itself
const FAR = new Set(['End', 'Home', 'PageDown', 'PageUp']) // keys that may lead to blocks of unknown height

/** Lays out the text of *view* in *surface*, until it is aborted. isFar: a place far down is shown first: nothing is left out then. */
export function layOut(view: EditorView, surface: HTMLElement, isFar: boolean): AbortController {
  const ending = new AbortController()
  const isLong = view.state.doc.content.size > LONG
  if (isFar) {
    if (isLong) follow(view, surface, ending.signal).measureAll()
    return ending
  }
  surface.classList.add('opening')
  afterFrame(() => {
    if (isLong && !ending.signal.aborted) follow(view, surface, ending.signal)
    surface.classList.remove('opening')
  })
  return ending
}

function follow(view: EditorView, surface: HTMLElement, signal: AbortSignal): Sight {
  const sight = new Sight(view, signal)
  const press = ({ key, metaKey }: KeyboardEvent) => {
    if (FAR.has(key) || (metaKey && key.startsWith('Arrow'))) sight.measureAll()
    sight.lookAround()
  }
  view.dom.addEventListener('keydown', press, { signal, capture: true })
  view.dom.addEventListener('beforeinput', () => sight.lookAround(), { signal, capture: true })
  const width = new ResizeObserver(() => sight.measure(view.dom.clientWidth))
  width.observe(view.dom)
  signal.addEventListener('abort', () => width.disconnect())
  surface.classList.add('long')
  return sight
}

/** Blocks by their numbers: the first, and the one behind the last. */
type Range = readonly [number, number]
const NONE: Range = [0, 0]

class Sight {
  readonly #sheet = new CSSStyleSheet() // attributes of blocks are the editor's own
  #near: Range = NONE // blocks around the cursor
  #measured: Range = NONE // what is measured now
  #next = 0 // the first block that is not measured
  #width = -1 // px of the text that is measured
  #typedAt = -STILL // ms since the window began
  #isWaiting = false // for a frame with the blocks that are measured now

  constructor(
    private readonly view: EditorView,
    private readonly signal: AbortSignal,
  ) {
    const page = view.dom.ownerDocument
    page.adoptedStyleSheets = [...page.adoptedStyleSheets, this.#sheet]
    const others = () => page.adoptedStyleSheets.filter((each) => each !== this.#sheet)
    signal.addEventListener('abort', () => (page.adoptedStyleSheets = others()))
  }

  /** Lays out the blocks that a key may change or take the cursor to: in others a browser puts it at the beginning. */
  lookAround(): void {
    this.#typedAt = performance.now()
    const at = this.view.state.selection.$head.index(0)
    const [begin, end] = this.#near
    if (end && Math.max(0, at - NEAR / 2) >= begin && Math.min(at + NEAR / 2, this.#count) <= end) return
    this.#near = [Math.max(0, at - NEAR), at + NEAR]
    this.#draw()
  }

  /** Measures all blocks for a text of *width* px, unless that was done last. */
  measure(width: number): void {
    if (width === this.#width) return
    const isBegun = this.#width < 0 && this.#next > 0
    this.#width = width
    if (isBegun) return
    this.#next = 0
    this.#soon()
  }

  /** Measures all blocks that are left at once. */
  measureAll(): void {
    if (this.#next < this.#count) this.#measureTo(this.#count)
  }

  get #count(): number {
    return this.view.state.doc.childCount
  }

  #soon(): void {
    if (!this.#isWaiting) whenIdle(() => this.#measurePart())
  }

  #measurePart(): void {
    if (this.signal.aborted || this.#isWaiting || this.#next >= this.#count) return
    const wait = this.#typedAt + STILL - performance.now()
    if (wait > 0) return void setTimeout(() => this.#soon(), wait)
    let [end, size] = [this.#next, 0]
    while (end < this.#count && size < PART) size += this.view.state.doc.child(end++).nodeSize
    this.#measureTo(end)
  }

  /** Lays out the blocks from the next to *end* for one frame: browsers remember the heights. */
  #measureTo(end: number): void {
    this.#measured = [this.#isWaiting ? Math.min(this.#measured[0], this.#next) : this.#next, end]
    this.#next = end
    this.#isWaiting = true
    this.#draw()
    afterFrame(() => {
      this.#isWaiting = false
      if (this.signal.aborted) return
      if (this.#next < this.#count) return this.#soon()
      this.#measured = NONE
      this.#draw()
    })
  }

  #draw(): void {
    const ends = this.#near === NONE ? [] : [`:nth-child(-n + ${ENDS})`, `:nth-last-child(-n + ${ENDS})`]
    const ranges = [this.#near, this.#measured].filter(([begin, end]) => begin < end)
    const shown = [...ends, ...ranges.map(([begin, end]) => `:nth-child(n + ${begin + 1}):nth-child(-n + ${end})`)]
    const selector = `.mirrord-editor .long > .prose > :is(${shown.join()})`
    this.#sheet.replaceSync(shown.length ? `${selector} { content-visibility: visible }` : '')
  }
}

const afterFrame = (work: () => void) => requestAnimationFrame(() => setTimeout(work))
