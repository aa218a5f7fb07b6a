// Pictures: those of the tree are shown, those of other hosts are links, so that no host learns who reads a page.
import type { NodeViewConstructor } from '@tiptap/pm/view'
import { isExternal, isRelative } from '../links/address'
import { element } from '../dom'
import type { Options } from '../options'
import { VIEW } from '../words'

/** The view of images. */
export function imageView(options: Options): NodeViewConstructor {
  return (node) => {
    const src = String(node.attrs['src'] ?? '')
    const alt = String(node.attrs['alt'] ?? '')
    const title = node.attrs['title'] as string | null
    if (isRelative(src) && src) return { dom: picture(options.fileUrl(src), alt, title, src) }
    const shown = `▣ ${alt || src.slice(0, 80)}`
    if (!isExternal(src)) return { dom: element('span', { class: 'chip', title: VIEW.hiddenAddress }, shown) }
    const rel = 'noopener noreferrer'
    return { dom: element('a', { class: 'chip', href: src, target: '_blank', rel, title: title ?? src }, shown) }
  }
}

const AGAIN = [300, 1_000, 3_000] // ms after which a picture that did not load is asked for again

/** A picture, or its name if it does not load. A picture that was just uploaded has no path yet. */
export function picture(url: string, alt: string, title: string | null, name: string): HTMLElement {
  const dom = element('span', { class: 'picture' })
  const shown = element('img', { src: url, alt, title, loading: 'lazy', decoding: 'async' })
  const waits = [...AGAIN]
  shown.addEventListener('error', () => {
    const wait = waits.shift()
    if (wait) setTimeout(() => shown.isConnected && (shown.src = url), wait)
    else dom.replaceChildren(element('span', { class: 'chip', title: VIEW.noPicture }, `▣ ${alt || name}`))
  })
  dom.append(shown)
  return dom
}
