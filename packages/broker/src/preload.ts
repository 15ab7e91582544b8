import { createRequire } from 'node:module'
import { findRipgrep } from './fs/search/ripgrep.ts'

/** Undici loads one of these with the first connection, depending on the processor. */
const PARSERS = ['undici/lib/llhttp/llhttp-wasm.js', 'undici/lib/llhttp/llhttp_simd-wasm.js']
const load = createRequire(import.meta.url)

/** Loads the code that requests of tools can make this process load, one promise for each part. */
export const preloadCode = (): readonly Promise<unknown>[] =>
  [findRipgrep(), import('undici'), ...PARSERS.map(async (parser) => { load(parser) })]
