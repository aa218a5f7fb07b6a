// A preview of the target of a reference.
import { beside, element } from '../dom'
import type { Preview } from '../options'
import { VIEW } from '../words'

const PATIENCE = 300 // ms of pointing
const [TRIES, RETRY] = [5, 3_000] // of a target that the server could not tell; ms between them

/** Shows the target of a reference while a person points at it; one instance serves all references. */
export class Peek {
  #timer: ReturnType<typeof setTimeout> | undefined
  #card: HTMLElement | null = null
  #at: HTMLElement | null = null // the reference under the mouse
  #pointings = 0

  constructor(private readonly look: (dom: HTMLElement) => Promise<Preview | null>) {}

  /** Called when a person points at *dom*. */
  begin(dom: HTMLElement): void {
    if (dom === this.#at) return
    this.end()
    this.#at = dom
    const pointing = ++this.#pointings
    this.#timer = setTimeout(() => void this.#open(dom, pointing, TRIES), PATIENCE)
  }

  /** Called when a person no longer points at *dom*, or at any reference. */
  end(dom = this.#at): void {
    if (dom !== this.#at) return
    clearTimeout(this.#timer)
    this.#card?.remove()
    this.#card = null
    this.#at = null
  }

  async #open(dom: HTMLElement, pointing: number, tries: number): Promise<void> {
    const found = await this.look(dom).catch(() => undefined)
    if (dom !== this.#at || pointing !== this.#pointings) return
    if (found === undefined) {
      if (tries > 1) this.#timer = setTimeout(() => void this.#open(dom, pointing, tries - 1), RETRY)
      return
    }
    this.#card?.remove()
    this.#card = cardOf(found)
    document.body.append(this.#card)
    beside(this.#card, dom.getBoundingClientRect())
  }
}

function cardOf(found: Preview | null): HTMLElement {
  if (!found) return element('div', { class: 'mirrord-card', role: 'tooltip' }, VIEW.noPageYet)
  return element('div', { class: 'mirrord-card', role: 'tooltip' }, element('b', {}, found.title), ...found.body)
}
