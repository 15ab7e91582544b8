import { utf16Of, type Utf16 } from './utf16.ts'

/** What the first bytes of a file say it is. */
export type FileKind = { readonly kind: 'text' } | { readonly kind: 'utf16'; readonly encoding: Utf16 } | { readonly kind: 'binary' } | { readonly kind: 'image'; readonly mimeType: string }

const SIGNATURES: readonly (readonly [mimeType: string, offset: number, bytes: readonly number[]])[] = [
  ['image/png', 0, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ['image/jpeg', 0, [0xff, 0xd8, 0xff]],
  ['image/gif', 0, [0x47, 0x49, 0x46, 0x38]],
  ['image/webp', 8, [0x57, 0x45, 0x42, 0x50]],
]

/** How many bytes are looked at. */
export const SNIFF_BYTES = 8_192

export function fileKind(head: Uint8Array): FileKind {
  const image = SIGNATURES.find(([, offset, bytes]) => bytes.every((byte, index) => head[offset + index] === byte))
  if (image) return { kind: 'image', mimeType: image[0] }
  const encoding = utf16Of(head)
  if (encoding !== undefined) return { kind: 'utf16', encoding }
  return { kind: head.includes(0) ? 'binary' : 'text' }
}
