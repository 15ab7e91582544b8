import { describe, expect, it } from 'vitest'
import { fileKind } from '../text.ts'

describe('fileKind() detects', () => {
  it.each([
    ['text', 'hello', { kind: 'text' }],
    ['an empty file', '', { kind: 'text' }],
    ['a null byte', 'a\0b', { kind: 'binary' }],
    ['a PNG', '\x89PNG\r\n\x1a\n', { kind: 'image', mimeType: 'image/png' }],
    ['a JPEG', '\xff\xd8\xff\xe0', { kind: 'image', mimeType: 'image/jpeg' }],
    ['a GIF', 'GIF89a', { kind: 'image', mimeType: 'image/gif' }],
    ['a WebP', 'RIFF\x00\x00\x00\x00WEBPVP8 ', { kind: 'image', mimeType: 'image/webp' }],
    ['UTF-16LE', '\xff\xfea\0', { kind: 'utf16', encoding: 'utf-16le' }],
    ['UTF-16BE', '\xfe\xff\0a', { kind: 'utf16', encoding: 'utf-16be' }],
    ['UTF-32', '\xff\xfe\0\0a\0\0\0', { kind: 'binary' }],
    ['an incomplete signature', '\x89PN', { kind: 'text' }],
  ])('detects %s', (_, text, kind) => {
    expect(fileKind(Uint8Array.from(text, (char) => char.charCodeAt(0)))).toEqual(kind)
  })
})
