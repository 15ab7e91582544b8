import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { BulkheadError } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'

export interface ModuleRequest {
  readonly main: string
  /** The texts of modules and of JSON. */
  readonly sources: ReadonlyMap<string, string>
  /** Of every file. */
  readonly names: ReadonlySet<string>
}

export type ModuleFault =
  | { readonly kind: 'syntax'; readonly path: string; readonly line: string | null; readonly message: string }
  /** It imports what is not in the package. */
  | { readonly kind: 'import'; readonly path: string; readonly specifier: string }
  /** It imports a file that no compartment loads. */
  | { readonly kind: 'form'; readonly path: string; readonly specifier: string }

const PARSED_FILE = /\.(?:m?js|json)$/

/**
 * Parses the main module and whatever it imports from the package, so that nothing is packed that no host can import. Runs none of it.
 * Rejects with CompartmentStartFailed for what cannot be parsed, and with ModuleNotFound for an import that leads nowhere or to what is no module.
 */
export async function parseModules(main: string, files: ReadonlyMap<string, Uint8Array>): Promise<void> {
  const parsed = [...files].filter(([path]) => PARSED_FILE.test(path))
  const question: ModuleRequest = {
    main, names: new Set(files.keys()), sources: new Map(parsed.map(([path, bytes]) => [path, new TextDecoder().decode(bytes)])),
  }
  const worker = new Worker(new URL('./module-thread.ts', import.meta.url), {
    workerData: question, env: {}, execArgv: ['--experimental-vm-modules', '--no-warnings'],
  })
  const [fault] = await once(worker, 'message') as [ModuleFault | null]
  if (fault !== null) throw inWords(fault)
}

function inWords(fault: ModuleFault): BulkheadError {
  const path = visibleText(fault.path)
  if (fault.kind === 'import') {
    return new BulkheadError('ModuleNotFound', `${path} imports "${visibleText(fault.specifier)}", which is neither in the package nor installed in node_modules beside the manifest. Install it there, or import a file by its relative path, and try again.`)
  }
  if (fault.kind === 'form') {
    return new BulkheadError('ModuleNotFound', `${path} imports "${visibleText(fault.specifier)}", which is neither an ES module (.js, .mjs), JSON nor WebAssembly, so that no host can load it. Build an ES module of it, import that, and try again.`)
  }
  const place = fault.line === null ? path : `${path}, line ${fault.line},`
  return new BulkheadError('CompartmentStartFailed', `${place} cannot be parsed: ${visibleText(fault.message)}. Correct it, and try again.`)
}
