import { randomBytes } from 'node:crypto'

const HANDLE = /\{\{secret:[A-Za-z_][A-Za-z0-9_]{0,127}:[A-Za-z0-9_-]{22}\}\}/g

/**
 * A text that stands for a secret. It cannot be guessed, so that no text from elsewhere, such as an argument of a model or
 * a page from the network, can stand for one.
 */
export const newHandle = (name: string): string => `{{secret:${name}:${randomBytes(16).toString('base64url')}}}`

export const hasHandle = (text: string): boolean => text.search(HANDLE) >= 0

export const replaceHandles = (text: string, valueOf: (handle: string) => string): string =>
  text.replaceAll(HANDLE, (handle) => valueOf(handle))
