// Which addresses of a page may be followed or shown, and how they are followed.
import type { Options } from './options'

const EXTERNAL = /^(https?:\/\/|mailto:)/i

/** The address of a link as the browser would read it: without the blanks and control characters it ignores. */
function plain(address: string): string {
  return address.replace(/[\u0000-\u0020\u007f-\u00a0\u00ad\u2000-\u200f\u2028-\u202f\u205f-\u206f\ufeff]/g, '')
}

/** Whether it leads out of the tree, to where a browser may go. */
export function isExternal(address: string): boolean {
  return EXTERNAL.test(plain(address))
}

/** Whether it is a path, relative or from the root of the tree: no scheme, no other host. */
export function isRelative(address: string): boolean {
  const found = plain(address)
  return !/^[a-z][a-z0-9+.-]*:/i.test(found) && !/^[/\\]{2}/.test(found)
}

/** Whether a link to it is a link; else it is shown as text. */
export function isSafe(address: string): boolean {
  return isExternal(address) || isRelative(address)
}

/** Go where a safe address leads: in the tree, or in another window. */
export function follow(address: string, options: Options): void {
  if (isExternal(address)) window.open(address, '_blank', 'noopener,noreferrer')
  else options.open(address)
}

/** Whether an embedded file is a picture, by its name. */
export function isPicture(name: string): boolean {
  return /\.(png|jpe?g|gif|webp|avif|svg|bmp)$/i.test(name)
}
