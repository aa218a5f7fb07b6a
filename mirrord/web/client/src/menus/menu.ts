// The list beside the cursor while a person types a text that can be completed.
import type { SuggestionKeyDownProps, SuggestionProps } from '@tiptap/suggestion'
import { beside, element } from '../dom'

/** The texts of one item. */
export interface Shown {
  sign: string
  label: string
  detail: string
}

/** Shows the results of a suggestion of TipTap; arrows, Enter and Escape work in it. */
export function menu<Item>(label: string, shown: (item: Item) => Shown) {
  let list: HTMLElement | null = null
  let props: SuggestionProps<Item> | null = null
  let chosen = 0

  const draw = () => {
    if (!list || !props) return
    const { items, command, editor } = props
    list.hidden = !items.length
    list.replaceChildren(...items.map((item, index) => optionOf(shown(item), index, index === chosen, () => command(item))))
    editor.view.dom.setAttribute('aria-activedescendant', items.length ? `mirrord-option-${chosen}` : '')
    list.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' })
    const place = props.clientRect?.()
    if (place) beside(list, place)
  }
  const take = (next: SuggestionProps<Item>) => {
    if (next.query !== props?.query) chosen = 0
    props = next
    chosen = Math.min(chosen, Math.max(0, next.items.length - 1))
    draw()
  }
  return {
    onStart(next: SuggestionProps<Item>) {
      list = element('div', { class: 'mirrord-menu', role: 'listbox', id: 'mirrord-menu', 'aria-label': label })
      document.body.append(list)
      next.editor.view.dom.setAttribute('aria-controls', 'mirrord-menu')
      take(next)
    },
    onUpdate: take,
    onExit() {
      list?.remove()
      list = null
      props?.editor.view.dom.removeAttribute('aria-activedescendant')
      props?.editor.view.dom.removeAttribute('aria-controls')
      props = null
    },
    onKeyDown({ event }: SuggestionKeyDownProps): boolean {
      const count = props?.items.length ?? 0
      if (!count || !props) return false
      if (event.key === 'ArrowDown') chosen = (chosen + 1) % count
      else if (event.key === 'ArrowUp') chosen = (chosen + count - 1) % count
      else if (event.key === 'Enter' || event.key === 'Tab') props.command(props.items[chosen]!)
      else return false
      draw()
      return true
    },
  }
}

function optionOf({ sign, label, detail }: Shown, index: number, isChosen: boolean, choose: () => void): HTMLElement {
  const made = element(
    'div',
    { role: 'option', id: `mirrord-option-${index}`, 'aria-selected': String(isChosen) },
    element('span', { class: 'sign', 'aria-hidden': 'true' }, sign),
    element('span', { class: 'label' }, label),
    element('span', { class: 'detail' }, detail),
  )
  made.addEventListener('mousedown', (event) => {
    event.preventDefault()
    choose()
  })
  return made
}
