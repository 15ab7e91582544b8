import type { BundledExtension } from './bundled-extension.ts'
import { read } from './read/read.ts'

export type { BundledExtension }

/** Every tool that ships with the host. */
export const bundledExtensions: readonly BundledExtension[] = [read]
