// Wikilinks and embeds: names of pages and files, followed by a click, looked into by pointing at them.
import type { Node } from '@tiptap/pm/model'
import type { NodeView, NodeViewConstructor } from '@tiptap/pm/view'
import { isPicture } from '../address'
import { element } from '../dom'
import type { Options } from '../options'
import { peeking } from '../peek'
import { picture } from './image'

/** What a reference means, as it stands between `[[` and `]]`, without the text shown. */
export function targetOf(node: Node): string {
  const heading = node.attrs['heading'] as string | null
  return `${String(node.attrs['target'] ?? '')}${heading ? `#${heading}` : ''}`
}

const shownFor = (node: Node) => String(node.attrs['alias'] || targetOf(node))

/** How wikilinks are drawn. */
export function wikilinkView(options: Options): NodeViewConstructor {
  return (node) => reference(node, options, element('a', { class: 'wikilink', role: 'link' }, shownFor(node)))
}

/** How embeds are drawn: a picture as itself, a page by its beginning. */
export function embedView(options: Options): NodeViewConstructor {
  return (node) => {
    const target = String(node.attrs['target'] ?? '')
    if (isPicture(target)) return { dom: sized(picture(options.fileUrl(target), target, null, target), node) }
    const text = element('span', { class: 'beginning' })
    const dom = element('span', { class: 'embed' }, element('a', { role: 'link' }, shownFor(node)), text)
    void options.preview(targetOf(node)).then(
      (found) => text.replaceChildren(found ? found.text : 'There is no such page'),
      () => text.replaceChildren(),
    )
    return reference(node, options, dom)
  }
}

function reference(node: Node, options: Options, dom: HTMLElement): NodeView {
  const target = targetOf(node)
  dom.addEventListener('click', () => options.open(target))
  const destroy = peeking(dom, () => options.preview(target))
  return { dom, destroy }
}

/** `![[plan.png|300]]` is 300 pixels wide. */
function sized(dom: HTMLElement, node: Node): HTMLElement {
  const width = /^(\d{1,4})(x\d+)?$/.exec(String(node.attrs['alias'] ?? ''))?.[1]
  const shown = dom.querySelector('img')
  if (width && shown) shown.width = Number(width)
  return dom
}
