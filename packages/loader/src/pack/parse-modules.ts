import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { BulkheadError, type CodeOrigins } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import { compileCacheEnvironment } from '@bulkhead/kit/thread-image'
import type { ModuleFault, ModuleRequest } from './module-thread.ts'

const PARSED_FILE = /\.(?:m?js|json)$/

/**
 * Parses the main module and its imports, so that a package that no host can import is not packed. Runs no code.
 * Rejects with CompartmentStartFailed for a syntax error, and with ModuleNotFound for an import that cannot be loaded.
 */
export async function parseModules(
  main: string, files: ReadonlyMap<string, Uint8Array>, origins?: CodeOrigins,
): Promise<void> {
  const parsed = [...files].filter(([path]) => PARSED_FILE.test(path))
  const request: ModuleRequest = {
    main, names: new Set(files.keys()),
    sources: new Map(parsed.map(([path, bytes]) => [path, new TextDecoder().decode(bytes)])),
  }
  const worker = new Worker(new URL('./module-thread.ts', import.meta.url), {
    workerData: request, env: compileCacheEnvironment(), execArgv: ['--experimental-vm-modules', '--no-warnings'],
  })
  const [fault] = await once(worker, 'message') as [ModuleFault | null]
  if (fault !== null) throw inWords(fault, origins)
}

function inWords(fault: ModuleFault, origins: CodeOrigins | undefined): BulkheadError {
  const written = fault.kind === 'syntax' ? undefined : origins?.importOf(fault.specifier)
  const path = visibleText(written ? `${written.file}, line ${written.line},` : origins?.main ?? fault.path)
  if (fault.kind === 'import') {
    return new BulkheadError('ModuleNotFound', [
      `${path} imports "${visibleText(fault.specifier)}", which is neither in the package nor installed in`,
      'node_modules next to the manifest. Install it there, or import a file by its relative path, and try again.',
    ].join(' '))
  }
  if (fault.kind === 'form') {
    return new BulkheadError('ModuleNotFound', [
      `${path} imports "${visibleText(fault.specifier)}", which is neither an ES module (.js, .mjs), JSON nor`,
      'WebAssembly, so no host can load it. Build an ES module from it, import that, and try again.',
    ].join(' '))
  }
  const place = fault.line === null || origins !== undefined ? path : `${path}, line ${fault.line},`
  return new BulkheadError(
    'CompartmentStartFailed', `${place} cannot be parsed: ${visibleText(fault.message)}. Correct it and try again.`,
  )
}
