// A look at where a reference leads, without going there.
import { beside, element } from './dom'
import type { Preview } from './options'

const PATIENCE = 300 // ms of pointing

/** Show what *look* finds while somebody points at *dom*. Returns what ends that. */
export function peeking(dom: HTMLElement, look: () => Promise<Preview | null>): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let card: HTMLElement | null = null
  const close = () => {
    clearTimeout(timer)
    card?.remove()
    card = null
  }
  const open = async () => {
    const found = await look().catch(() => undefined)
    if (found === undefined || !dom.matches(':hover')) return
    close()
    card = cardOf(found)
    document.body.append(card)
    beside(card, dom.getBoundingClientRect())
  }
  dom.addEventListener('pointerenter', () => {
    clearTimeout(timer)
    timer = setTimeout(() => void open(), PATIENCE)
  })
  dom.addEventListener('pointerleave', close)
  dom.addEventListener('pointerdown', close)
  return close
}

function cardOf(found: Preview | null): HTMLElement {
  if (!found) return element('div', { class: 'mirrord-card', role: 'tooltip' }, 'There is no such page yet.')
  return element('div', { class: 'mirrord-card', role: 'tooltip' }, element('b', {}, found.title), element('p', {}, found.text))
}
