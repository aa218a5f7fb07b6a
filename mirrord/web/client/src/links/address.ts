// The addresses of a page: which are safe, and how they are followed.
import type { Options } from '../options'

const EXTERNAL = /^(https?:\/\/|mailto:)/i

/** The address of a link as a browser reads it: without the blanks and control characters that it ignores. */
function plain(address: string): string {
  return address.replace(/[\u0000-\u0020\u007f-\u00a0\u00ad\u2000-\u200f\u2028-\u202f\u205f-\u206f\ufeff]/g, '')
}

/** Whether the address leads out of the tree, to a place that a browser may open. */
export function isExternal(address: string): boolean {
  return EXTERNAL.test(plain(address))
}

/** Whether the address is a path, relative or from the root of the tree: without a scheme and a host. */
export function isRelative(address: string): boolean {
  const found = plain(address)
  return !/^[a-z][a-z0-9+.-]*:/i.test(found) && !/^[/\\]{2}/.test(found)
}

/** Whether the address may be a link; otherwise it is shown as text. */
export function isSafe(address: string): boolean {
  return isExternal(address) || isRelative(address)
}

/** Follows a safe address: in the tree, or in another window. */
export function follow(address: string, options: Options): void {
  if (isExternal(address)) window.open(address, '_blank', 'noopener,noreferrer')
  else options.open(address)
}

/** Whether the name of an embedded file is that of a picture. */
export function isPicture(name: string): boolean {
  return /\.(png|jpe?g|gif|webp|avif|svg|bmp)$/i.test(name)
}
