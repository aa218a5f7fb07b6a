// Pictures on the clipboard: one that was copied by itself, and those that are part of copied HTML.

const ALONE = /^(\s|<(html|body|meta|!--)[^>]*>)*<img\b[^>]*>(\s|<!--[^>]*-->|<\/(body|html)>)*$/i
const EMBEDDED = /\bsrc\s*=\s*(["'])(data:image\/[^"']+)\1/gi
const ENDINGS: Record<string, string> = { jpeg: 'jpg', 'svg+xml': 'svg' }

/** Whether the HTML is one picture and nothing else: "copy image" of a browser. */
export const isPictureAlone = (html: string) => ALONE.test(html)

/** The file of a picture that was copied by itself, named as on the page it is from. */
export function named(file: File, html: string): File {
  const [src, alt] = ['src', 'alt'].map((name) => new RegExp(`\\b${name}\\s*=\\s*["']([^"']*)`, 'i').exec(html)?.[1] ?? '')
  const ending = /\.\w+$/.exec(file.name)?.[0] ?? '.png'
  const stem = /^https?:[^?#]*\/([^/?#]+?)(\.\w+)?([?#]|$)/i.exec(src!)?.[1] ?? alt
  return stem ? new File([file], `${nameOf(stem).slice(0, 80)}${ending}`, { type: file.type }) : file
}

function nameOf(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** The addresses of all pictures that are written out in the HTML. */
export const embeddedIn = (html: string) => [...new Set([...html.matchAll(EMBEDDED)].map(([, , address]) => address!))]

/** The HTML with other addresses for embedded pictures; those without one have none. */
export const withAddresses = (html: string, addresses: Map<string, string>) =>
  html.replace(EMBEDDED, (_, quote: string, address: string) => `src=${quote}${addresses.get(address) ?? ''}${quote}`)

/** The file of an address that begins with `data:`; null: it cannot be read. */
export function fileOf(address: string, number: number): File | null {
  const [, kind, coding, content] = /^data:image\/([\w.+-]+)[^,]*?(;base64)?,([^]*)$/i.exec(address) ?? []
  if (!kind) return null
  try {
    const text = coding ? atob(content!.replaceAll(/\s/g, '')) : nameOf(content!)
    const bytes = coding ? Uint8Array.from(text, (letter) => letter.charCodeAt(0)) : new TextEncoder().encode(text)
    return new File([bytes], `picture-${number}.${ENDINGS[kind] ?? kind}`, { type: `image/${kind}` })
  } catch {
    return null
  }
}
