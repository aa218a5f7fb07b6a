// Pictures: those of the tree are shown, those of other hosts are links, so that no host learns who reads a page.
import type { Node } from '@tiptap/pm/model'
import type { EditorView, NodeViewConstructor } from '@tiptap/pm/view'
import { isExternal, isRelative } from '../links/address'
import { element } from '../dom'
import type { Options } from '../options'
import { VIEW } from '../words'

/** The view of images. */
export function imageView(options: Options): NodeViewConstructor {
  return (node, view, getPos) => {
    const src = String(node.attrs['src'] ?? '')
    const alt = String(node.attrs['alt'] ?? '')
    const title = node.attrs['title'] as string | null
    if (isRelative(src) && src) {
      const dom = picture(options.fileUrl(src), alt, title, src)
      const image = dom.querySelector('img')!
      size(dom, image, node)
      if (!view.editable) return { dom }
      const handle = resizing(image, (width) => resize(view, getPos(), width))
      dom.append(handle)
      return { dom, stopEvent: ({ target }) => target === handle, ignoreMutation: () => true }
    }
    const shown = `▣ ${alt || src.slice(0, 80)}`
    if (!isExternal(src)) return { dom: element('span', { class: 'chip', title: VIEW.hiddenAddress }, shown) }
    const rel = 'noopener noreferrer'
    return { dom: element('a', { class: 'chip', href: src, target: '_blank', rel, title: title ?? src }, shown) }
  }
}

/** Gives a picture its width: pixels, or a share of the text's width; and its height in pixels. */
function size(dom: HTMLElement, image: HTMLImageElement, { attrs }: Node): void {
  const [width, height] = [String(attrs['width'] ?? ''), String(attrs['height'] ?? '')]
  if (/^[1-9]\d{0,4}$/.test(width)) image.setAttribute('width', width)
  if (/^[1-9]\d?%$|^100%$/.test(width)) {
    dom.style.width = width
    image.setAttribute('width', '100%')
  }
  if (/^[1-9]\d{0,4}$/.test(height)) image.setAttribute('height', height)
}

/** Gives the picture at a position a width, and the height that goes with it; null: its own size. */
function resize(view: EditorView, at: number | undefined, width: number | null): void {
  const node = at === undefined ? null : view.state.doc.nodeAt(at)
  if (at === undefined || node?.type.name !== 'image') return // it was moved or deleted
  view.dispatch(view.state.tr.setNodeMarkup(at, null, { ...node.attrs, width, height: null }))
}

const LEAST = 24 // px that a picture is wide

/** A handle at the corner of a picture: a drag calls *commit* with the width at its end, a double click with null. */
function resizing(image: HTMLImageElement, commit: (width: number | null) => void): HTMLElement {
  const handle = element('button', { type: 'button', class: 'resize', tabindex: -1, title: VIEW.resize, 'aria-label': VIEW.resize })
  handle.addEventListener('mousedown', (event) => event.preventDefault()) // the selection stays
  handle.addEventListener('pointerdown', (event) => {
    if (!image.isConnected) return // its name is shown
    const start = image.getBoundingClientRect().width
    const most = Math.max(LEAST, image.closest('.prose > *')?.clientWidth ?? start)
    const widthAt = ({ clientX }: PointerEvent) => Math.round(Math.min(Math.max(start + clientX - event.clientX, LEAST), most))
    const move = (now: PointerEvent) => {
      image.removeAttribute('height')
      image.setAttribute('width', String(widthAt(now)))
    }
    const end = (now: PointerEvent) => {
      handle.removeEventListener('pointermove', move)
      if (now.clientX !== event.clientX) commit(widthAt(now))
    }
    handle.setPointerCapture(event.pointerId)
    handle.addEventListener('pointermove', move)
    handle.addEventListener('pointerup', end, { once: true })
  })
  handle.addEventListener('dblclick', () => image.isConnected && commit(null))
  return handle
}

const AGAIN = [300, 1_000, 3_000, 6_000, 20_000] // ms after which a picture that did not load is asked for again
const NAMED = 2 // of these waits remain when its name is shown in its place

/** A picture; its name while it does not load. A picture that was just uploaded has no path yet. */
export function picture(url: string, alt: string, title: string | null, name: string): HTMLElement {
  const dom = element('span', { class: 'picture' })
  const shown = element('img', { src: url, alt, title, loading: 'lazy', decoding: 'async' })
  const chip = element('span', { class: 'chip', title: VIEW.noPicture }, `▣ ${alt || name}`)
  const waits = [...AGAIN]
  shown.addEventListener('error', () => {
    if (waits.length === NAMED) shown.replaceWith(chip)
    const wait = waits.shift()
    if (wait) setTimeout(() => dom.isConnected && Object.assign(shown, { loading: 'eager', src: url }), wait)
  })
  shown.addEventListener('load', () => {
    chip.replaceWith(shown)
    dom.classList.toggle('sizeless', isSizeless(dom, shown))
  })
  dom.append(shown)
  return dom
}

/** Whether a picture has no size of its own, as a drawing with a `viewBox` only: its box, which fits it, would be empty. */
const isSizeless = (box: HTMLElement, image: HTMLImageElement) => box.getClientRects().length > 0 && image.clientWidth === 0
