// Saves the document: one save at a time, each based on the last version that arrived.
import { type Block, type Content, agree, written } from '../document/document'
import type { Page, Saved, State } from '../options'
import { type Unsettled, keptText } from './kept'

const STILL = 600 // ms without typing
const LONGEST = 3_000 // ms of typing
const HOLDING = 300 // ms between two calls of `keep` while a person types
const HELD_PER_MS = 2_000 // letters of what was kept last: a browser copies them several times
const RETRY = [1_000, 2_000, 4_000, 8_000, 15_000] // ms

/** The document to save, and its callbacks. */
export interface Desk {
  /** The blocks to write. */
  blocks(): Block[]
  /** Merges a page that changed elsewhere; *base* is the common ancestor of it and this document. */
  merge(base: Block[], page: Page): void
  /** The blocks of a page in the schema of this editor. */
  blocksOf(content: Content): Block[]
  /** The reason why a person has to decide before everything is saved; null: there is none. */
  clash(): string | null
  /** Everything that would be lost if this editor ended now, without the base. */
  unsettled(): Unsettled
  save(content: Content, version: number): Promise<Saved>
  onState(state: State, sentence?: string): void
  keep(text: string | null): void
}

export class Saving {
  #busy: Promise<void> | null = null
  #waiting: Page | null = null // arrived during a save
  #uncertain: Block[] | null = null // sent, without an answer
  #refused: string | null = null
  #failures = 0
  #since = 0 // when the oldest unsaved change was made
  #timer: ReturnType<typeof setTimeout> | undefined
  #isHeld = false // something is kept
  #heldLetters = 0 // that were kept last
  #holding: ReturnType<typeof setTimeout> | undefined // the next call of `keep`
  #isTouched = false
  #ended = false
  #base: Block[] | null = null

  /** began: the base of the document, computed when it is needed: on a long page that takes a moment. */
  constructor(
    private readonly desk: Desk,
    private readonly began: () => Block[],
    private version: number,
    isHeld: boolean,
  ) {
    this.#isHeld = isHeld
    this.#isTouched = isHeld
  }

  private get base(): Block[] {
    return (this.#base ??= this.began())
  }

  /** Whether the document has content that the page does not have; a document that was only read is not compared. */
  unsaved(): boolean {
    return this.#isTouched && !agree(this.base, this.desk.blocks())
  }

  /** Called when a person types. */
  changed(): void {
    if (this.#ended) return // a pasted text or a file came after the page was left
    this.#isTouched = true
    this.#refused = null
    if (!this.unsaved()) {
      if (!this.#busy) this.#rest()
      return
    }
    this.#since ||= Date.now()
    if (!this.#busy) this.#schedule(Math.min(STILL, Math.max(0, this.#since + LONGEST - Date.now())))
    this.#holdSoon()
    this.#show(this.#failures ? 'offline' : 'typing')
  }

  /** Called with a new version of the page. */
  arrived(page: Page): void {
    if (this.#busy) {
      if (page.version >= (this.#waiting?.version ?? 0)) this.#waiting = page
      return
    }
    if (page.version < this.version || !page.content) return
    this.#take(page)
    if (this.unsaved()) this.changed()
    else this.#rest()
  }

  /** Saves at once, and resolves when there is an answer. */
  async now(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#busy
    if (this.#ended || !this.#isTouched || this.#refused || !this.unsaved()) return
    this.#busy = this.#saved().finally(() => {
      this.#busy = null
    })
    await this.#busy
    this.#after()
  }

  /** Keeps unsaved content for a reload at once: the page may be closed after this. */
  hold(): void {
    if (this.#isTouched) this.#hold()
  }

  end(): void {
    if (this.#holding !== undefined) this.#hold()
    this.#ended = true
    clearTimeout(this.#timer)
  }

  async #saved(): Promise<void> {
    const sent = this.desk.blocks()
    this.#since = 0
    this.#show('saving')
    let answer: Saved
    try {
      answer = await this.desk.save(written(sent), this.version)
    } catch {
      this.#uncertain = sent
      this.#failures += 1
      return
    }
    this.#failures = 0
    if ('sentence' in answer) this.#refused = answer.sentence
    else if ('page' in answer) this.#take(answer.page)
    else [this.#base, this.version, this.#uncertain] = [sent, answer.version, null]
  }

  #take(page: Page): void {
    if (!page.content) return // not derived yet: the next notification has it
    const theirs = this.desk.blocksOf(page.content)
    if (this.#uncertain && agree(this.#uncertain, theirs)) this.#base = this.#uncertain
    this.#uncertain = null
    this.desk.merge(this.base, page)
    ;[this.#base, this.version] = [theirs, page.version]
  }

  #after(): void {
    const page = this.#waiting
    this.#waiting = null
    if (this.#ended) return
    if (page && page.version >= this.version && page.content) this.#take(page)
    if (!this.unsaved()) this.#rest()
    else if (this.#refused) this.#show('refused', this.#refused)
    else if (this.#failures) {
      this.#show('offline')
      this.#schedule(RETRY[Math.min(this.#failures, RETRY.length) - 1]!)
    } else this.changed()
    this.#hold()
  }

  #rest(): void {
    clearTimeout(this.#timer)
    this.#since = 0
    if (this.desk.clash() === null) this.#hold()
    else this.#holdSoon() // text in a clash is not saved
    this.#show('saved')
  }

  #show(state: State, sentence?: string): void {
    const clash = this.desk.clash()
    if (clash !== null && (state === 'saved' || state === 'typing')) this.desk.onState('clash', clash)
    else this.desk.onState(state, sentence)
  }

  #schedule(wait: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.now(), wait)
  }

  /** Calls `keep` within HOLDING: a long page is too large to keep at every key. */
  #holdSoon(): void {
    this.#holding ??= setTimeout(() => this.#hold(), Math.max(HOLDING, this.#heldLetters / HELD_PER_MS))
  }

  #hold(): void {
    clearTimeout(this.#holding)
    this.#holding = undefined
    const isDone = !this.unsaved() && this.desk.clash() === null
    const text = isDone ? null : keptText({ version: this.version, base: this.base, ...this.desk.unsettled() })
    if (!isDone || this.#isHeld) this.desk.keep(text)
    this.#heldLetters = text?.length ?? 0
    this.#isHeld = !isDone
  }
}
