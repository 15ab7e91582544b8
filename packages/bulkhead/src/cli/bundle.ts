import { builtinModules } from 'node:module'
import { join } from 'node:path'
import { BulkheadError, messageOf } from '@bulkhead/contract'

/** What a compartment has by itself. */
const PROVIDED: readonly (string | RegExp)[] = ['@bulkhead/contract', '@bulkhead/contract/author', /^node:/, ...builtinModules]

/**
 * One ES module of a module and everything it imports, CommonJS among it: a compartment has neither `require` nor packages.
 * The bundler is large and only publishers need it, so it is no dependency of Bulkhead; whoever packs brings it.
 */
export async function bundleModule(folder: string, main: string): Promise<string> {
  let rolldown: typeof import('rolldown')
  try {
    rolldown = await import('rolldown')
  } catch (error) {
    throw new BulkheadError('ModuleNotFound', 'The folder has dependencies installed, and they are bundled with rolldown, which is not there: install it beside bulkhead, or bundle the extension yourself.', { cause: error })
  }
  try {
    const build = await rolldown.rolldown({
      input: join(folder, main), cwd: folder, platform: 'node', external: [...PROVIDED], logLevel: 'silent',
    })
    const { output } = await build.generate({ format: 'esm', codeSplitting: false })
    await build.close()
    const [chunk, ...others] = output
    if (others.length > 0) throw new Error(`It needs ${others.length} further files.`)
    return chunk.code
  } catch (error) {
    throw new BulkheadError('ModuleNotFound', `${main} cannot be bundled: ${messageOf(error)}`, { cause: error })
  }
}
