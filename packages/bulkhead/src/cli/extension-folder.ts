import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import type { JsonObject } from '@bulkhead/kit/json'
import { packFolder, type Packed } from '@bulkhead/loader'
import { homeFolder } from '../facade/home-folder.ts'
import { loaderOptions } from '../facade/loader-options.ts'
import { bundleModule } from './bundle.ts'

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
