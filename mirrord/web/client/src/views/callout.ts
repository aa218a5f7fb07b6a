// Callouts: a type, a title, and blocks that may be folded.
import type { Node } from '@tiptap/pm/model'
import type { NodeViewConstructor } from '@tiptap/pm/view'
import { element } from '../dom'
import { folding, ignores } from './fold'
import { VIEW } from '../words'

const SIGNS: Record<string, string> = {
  ...{ note: '✎', info: 'ℹ', tip: '✦', hint: '✦', success: '✓', done: '✓', check: '✓', question: '?', help: '?', faq: '?' },
  ...{ warning: '⚠', caution: '⚠', attention: '⚠', important: '!', danger: '!', error: '!', bug: '!', failure: '✗' },
  ...{ example: '≡', quote: '❝', cite: '❝', abstract: '≡', summary: '≡', tldr: '≡', todo: '☐' },
}

const typeOf = (node: Node) => String(node.attrs['type'] ?? 'note').toLowerCase()

export const callout: NodeViewConstructor = (first) => {
  const content = element('div', { class: 'content' })
  const head = element('div', { class: 'head', contenteditable: 'false' })
  const dom = element('div', { class: 'callout' }, head, content)
  const fold = folding(VIEW.fold, (open) => (content.hidden = !open))
  let known: unknown
  const draw = (node: Node) => {
    const type = typeOf(node)
    const title = String(node.attrs['title'] || type.charAt(0).toUpperCase() + type.slice(1))
    const sign = element('span', { class: 'sign', 'aria-hidden': 'true' }, SIGNS[type] ?? '✎')
    dom.dataset['type'] = type
    if (node.attrs['fold'] !== known) fold.show(node.attrs['fold'] !== '-')
    known = node.attrs['fold']
    head.replaceChildren(...(known ? [fold.toggle] : []), sign, element('span', { class: 'title' }, title))
  }
  draw(first)
  return {
    dom,
    contentDOM: content,
    update: (node) => node.type === first.type && (draw(node), true),
    ignoreMutation: ignores(content),
    stopEvent: (event) => event.target === fold.toggle,
  }
}
