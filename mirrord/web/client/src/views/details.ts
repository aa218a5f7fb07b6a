// Toggles: a summary and its folded content. Unfolding changes the display only; `open` is the state in the page.
import type { NodeViewConstructor } from '@tiptap/pm/view'
import { element } from '../dom'
import { folding, ignores } from './fold'
import { VIEW } from '../words'

export const details: NodeViewConstructor = (first) => {
  const content = element('div', { class: 'parts' })
  const dom = element('div', { class: 'details' })
  const fold = folding(VIEW.unfold, (open) => dom.classList.toggle('folded', !open))
  dom.append(fold.toggle, content)
  let known = Boolean(first.attrs['open'])
  fold.show(known)
  return {
    dom,
    contentDOM: content,
    update(node) {
      if (node.type !== first.type) return false
      if (Boolean(node.attrs['open']) !== known) fold.show(!known)
      known = Boolean(node.attrs['open'])
      return true
    },
    ignoreMutation: ignores(content),
    stopEvent: (event) => event.target === fold.toggle,
  }
}

export const detailsContent: NodeViewConstructor = () => {
  const dom = element('div', { 'data-type': 'detailsContent' })
  return { dom, contentDOM: dom }
}
