import { BulkheadError } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import type { BundledFiles } from '@bulkhead/loader'
import { nameOf } from './bundle-origins.ts'

const NATIVE = 'is native code, which no compartment runs. Use a package in JavaScript instead, or a service over HTTP.'
const WASM = 'is WebAssembly, which a bundle cannot contain. Import the file from a tool without dependencies, or pass '
  + 'its bytes to `WebAssembly.instantiate`; many packages have an entry without WebAssembly.'

/** Throws ModuleNotFound for an import that a compartment cannot have: the message names the package and what to do. */
export function refuseUnsupported(
  specifier: string, importer: string | undefined, sources: Pick<BundledFiles, 'shown'>,
): void {
  const kind = /\.(node|wasm)$/.exec(specifier)?.[1]
  if (kind === undefined || importer === undefined) return
  const from = nameOf(sources.shown(importer))
  const why = kind === 'node' ? NATIVE : WASM
  throw new BulkheadError('ModuleNotFound', `${visibleText(from)} imports "${visibleText(specifier)}", which ${why}`)
}

/** A line of a bundle that begins with a decorator, or has one after a keyword. */
const DECORATOR = /^[ \t]*(?:(?:export|default|static|abstract)[ \t]+)*@[\w$]+(?:\.[\w$]+)*[ \t]*(?:\(|\n|[\w$#[*]|@)/m

/**
 * Throws CompartmentStartFailed if decorators are left in the code: neither Node nor the bundler knows those of the
 * standard.
 */
export async function refuseDecorators(main: string, code: string): Promise<void> {
  if (!DECORATOR.test(code)) return
  const { parseSync } = await import('rolldown/utils')
  if (!hasDecorator(parseSync('bundle.js', code).program)) return
  throw new BulkheadError('CompartmentStartFailed', [
    `${main} or a package that it imports uses decorators, which Node does not run.`,
    'Set "experimentalDecorators" in tsconfig.json if they are those of TypeScript, or do without them.',
  ].join(' '))
}

function hasDecorator(node: unknown): boolean {
  if (Array.isArray(node)) return node.some(hasDecorator)
  if (typeof node !== 'object' || node === null) return false
  const { decorators } = node as { readonly decorators?: unknown }
  return Array.isArray(decorators) && decorators.length > 0 || Object.values(node).some(hasDecorator)
}
