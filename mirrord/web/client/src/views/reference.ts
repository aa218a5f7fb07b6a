// Wikilinks and embeds: names of pages and files. A click follows them, pointing at them shows a preview.
import type { Node } from '@tiptap/pm/model'
import type { EditorView, NodeView, NodeViewConstructor } from '@tiptap/pm/view'
import { isPicture } from '../links/address'
import { element } from '../dom'
import type { Options } from '../options'
import { Peek } from '../links/peek'
import { picture } from './image'
import { VIEW } from '../words'

/** The target of a reference, as between `[[` and `]]`, without the displayed text. */
export function targetOf(node: Node): string {
  const heading = node.attrs['heading'] as string | null
  return `${String(node.attrs['target'] ?? '')}${heading ? `#${heading}` : ''}`
}

const shownFor = (node: Node) => String(node.attrs['alias'] || targetOf(node))

type Handler<E> = (view: EditorView, event: E) => void

/** The views and mouse events of references: a long page has thousands, so the text has the listeners for all. */
export interface References {
  views: { wikilink: NodeViewConstructor; embed: NodeViewConstructor }
  events: { click: Handler<MouseEvent>; pointerover: Handler<PointerEvent>; pointerout: Handler<PointerEvent>; pointerdown: Handler<PointerEvent> }
}

export function references(options: Options): References {
  const targets = new WeakMap<Element, string>()
  const peek = new Peek((dom) => options.preview(targets.get(dom)!))
  const known = (node: Node, dom: HTMLElement): NodeView => {
    targets.set(dom, targetOf(node))
    return { dom, destroy: () => peek.end(dom) }
  }
  const pattern = element('a', { class: 'wikilink', role: 'link', contenteditable: 'false' })
  const wikilink = (node: Node) => {
    const dom = pattern.cloneNode() as HTMLElement
    dom.textContent = shownFor(node)
    return known(node, dom)
  }
  const at = ({ target }: Event) => {
    const dom = target instanceof Element ? target.closest<HTMLElement>('.wikilink, .embed') : null
    return dom && targets.has(dom) ? dom : null
  }
  return {
    views: { wikilink, embed: embedView(options, known) },
    events: {
      click(_, event) {
        const dom = at(event)
        if (dom) options.open(targets.get(dom)!)
      },
      pointerover(_, event) {
        const dom = at(event)
        if (dom) peek.begin(dom)
      },
      pointerout(_, event) {
        const dom = at(event)
        if (dom && !(event.relatedTarget instanceof Element && dom.contains(event.relatedTarget))) peek.end(dom)
      },
      pointerdown: () => peek.end(),
    },
  }
}

const [TRIES, RETRY] = [5, 3_000] // of an embed that could not be asked for; ms between them

/** The view of embeds: a picture, or the beginning of a page. */
function embedView(options: Options, known: (node: Node, dom: HTMLElement) => NodeView): NodeViewConstructor {
  return (node) => {
    const target = String(node.attrs['target'] ?? '')
    if (isPicture(target)) return { dom: sized(picture(options.fileUrl(target), target, null, target), node) }
    const text = element('span', { class: 'beginning' })
    const dom = element('span', { class: 'embed' }, element('a', { role: 'link' }, shownFor(node)), text)
    const show = (tries: number): void =>
      void options.preview(targetOf(node)).then(
        (found) => text.replaceChildren(...(found ? found.body : [VIEW.noPage])),
        () => tries && setTimeout(() => dom.isConnected && show(tries - 1), RETRY), // the server is busy or away
      )
    show(TRIES)
    return known(node, dom)
  }
}

/** `![[plan.png|300]]` is 300 pixels wide. */
function sized(dom: HTMLElement, node: Node): HTMLElement {
  const width = /^(\d{1,4})(x\d+)?$/.exec(String(node.attrs['alias'] ?? ''))?.[1]
  const shown = dom.querySelector('img')
  if (width && shown) shown.width = Number(width)
  return dom
}
