import { statSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { join, resolve } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import type { JsonObject } from '@bulkhead/kit/json'
import { type Packed, packFolder } from '@bulkhead/loader'
import { homeFolder } from '../facade/folders.ts'
import { loaderOptions } from '../facade/loader-options.ts'

/** What a package of this folder would be, for whoever publishes it. `config`: what it is tried out with. Writes nothing. */
export async function readExtensionFolder(given: string, home: string | undefined, config?: JsonObject): Promise<Packed & { readonly folder: string }> {
  const folder = resolve(given)
  const fault = folderFault(folder)
  if (fault !== undefined) throw new BulkheadError('InstallSourceInvalid', `"${given}" ${fault}. Name the folder of an extension, such as ./weather.`)
  const packed = await packFolder(folder, { loader: loaderOptions(homeFolder(home)), bundle: (main) => bundleModule(folder, main), ...(config && { config }) })
  return { ...packed, folder }
}

function folderFault(path: string): string | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true ? undefined : 'is not a folder'
  } catch (error) {
    return `cannot be looked at: ${messageOf(error)}`
  }
}

/** What a compartment has by itself. */
const PROVIDED: readonly (string | RegExp)[] = ['@bulkhead/contract', '@bulkhead/contract/author', /^node:/, ...builtinModules]

/**
 * One ES module of a module and everything it imports, CommonJS among it: a compartment has neither `require` nor packages.
 * The bundler is large and only publishers need it, so it is no dependency of Bulkhead; whoever packs brings it.
 */
async function bundleModule(folder: string, main: string): Promise<string> {
  let rolldown: typeof import('rolldown')
  let plugins: typeof import('rolldown/plugins')
  try {
    [rolldown, plugins] = await Promise.all([import('rolldown'), import('rolldown/plugins')])
  } catch (error) {
    throw new BulkheadError('ModuleNotFound', 'The code uses dependencies that are installed beside it, and these are bundled with rolldown, which is not there. Install it where bulkhead is (npm install rolldown), or bundle the extension yourself.', { cause: error })
  }
  try {
    const build = await rolldown.rolldown({
      input: join(folder, main), cwd: folder, logLevel: 'silent',
      // As for Node, but for the `createRequire` that the bundler adds there and no compartment has. The bundler adds `import` or `require`
      // by how a package is asked for: to name `require` here would take the CommonJS copy, whole, of every package that has both.
      platform: 'neutral', resolve: { mainFields: ['module', 'main'], conditionNames: ['node', 'default'] },
      // Marks them as external too, and makes imports of what CommonJS asks for: by itself the bundler would make a `require` of its own.
      plugins: [plugins.esmExternalRequirePlugin({ external: [...PROVIDED] })],
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
