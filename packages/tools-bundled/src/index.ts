import type { ArgumentsReader, LockedTool } from '@bulkhead/contract'
import { bash } from './bash/bash.ts'
import { readBashArguments } from './bash/judging/read-arguments.ts'
import type { BundledExtension } from './bundled-extension.ts'
import { read } from './read/read.ts'

export type { BundledExtension }

/** Every tool that ships with the host. */
export const bundledExtensions: readonly BundledExtension[] = [bash, read]

/** For the host: what calls of these tools stand for, whoever implements them. */
export const argumentsReaders: ReadonlyMap<LockedTool, ArgumentsReader> = new Map([['bash', readBashArguments]])
