import type { BundledExtension } from './bundled-extension.ts'
import { edit } from './edit/edit.ts'
import { glob } from './glob/glob.ts'
import { grep } from './grep/grep.ts'
import { read } from './read/read.ts'
import { write } from './write/write.ts'

export type { BundledExtension }

/** Every tool that ships with the host. */
export const bundledExtensions: readonly BundledExtension[] = [read, write, edit, glob, grep]
