import { pathToFileURL } from 'node:url'
import { builtCode } from '@bulkhead/kit/built-code'
import { thoroughly } from '../../../scripts/thoroughly.ts'

const MODULE = new URL('./bundled/sources.ts', import.meta.url).href

async function bundled(): Promise<readonly string[]> {
  const kept = await builtCode<string>('bundled-sources', MODULE)
  return ['--import', pathToFileURL(kept).href]
}

/**
 * Arguments of Node for a process that a test starts: it loads the sources of all packages from a bundle, which takes
 * half the processor time. Bundled at first use, and kept while no source changes. `pnpm soak` starts them without.
 */
export const BUNDLED: readonly string[] = thoroughly(await bundled(), [])
