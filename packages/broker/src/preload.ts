import { createRequire } from 'node:module'
import { findRipgrep } from './fs/search/ripgrep.ts'

/** undici loads one of these with the first connection, depending on the CPU. */
const PARSERS = ['undici/lib/llhttp/llhttp-wasm.js', 'undici/lib/llhttp/llhttp_simd-wasm.js']
const load = createRequire(import.meta.url)

/** Loads what requests of tools would load later, before a tool could replace it on disk. One promise per part. */
export const preloadCode = (): readonly Promise<unknown>[] =>
  [findRipgrep(), import('undici'), ...PARSERS.map(async (parser) => { load(parser) })]
