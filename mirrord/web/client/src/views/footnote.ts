// Footnotes: a reference in the text, and the note elsewhere.
import type { Node } from '@tiptap/pm/model'
import type { EditorView, NodeViewConstructor } from '@tiptap/pm/view'
import { element } from '../dom'
import { VIEW } from '../words'

const labelOf = (node: Node) => String(node.attrs['label'] ?? '')

export const footnoteRef: NodeViewConstructor = (node, view) => {
  const label = labelOf(node)
  const dom = element('sup', { class: 'footnote', title: told(view, label) }, label)
  dom.addEventListener('dblclick', () => definitionIn(view, label)?.scrollIntoView({ block: 'center' }))
  return { dom }
}

export const footnoteDef: NodeViewConstructor = (node) => {
  const content = element('div', { class: 'content' })
  const label = element('span', { class: 'label', contenteditable: 'false' }, `${labelOf(node)}.`)
  const dom = element('div', { class: 'footnote-def', 'data-label': labelOf(node) }, label, content)
  return {
    dom,
    contentDOM: content,
    update: (next) => next.type === node.type && labelOf(next) === labelOf(node),
  }
}

function definitionIn(view: EditorView, label: string): HTMLElement | undefined {
  const all = view.dom.querySelectorAll<HTMLElement>('.footnote-def')
  return [...all].find((each) => each.dataset['label'] === label)
}

function told(view: EditorView, label: string): string {
  const found = view.state.doc.children.find((node) => node.type.name === 'footnoteDef' && labelOf(node) === label)
  return found ? found.textContent : VIEW.noNote(label)
}
