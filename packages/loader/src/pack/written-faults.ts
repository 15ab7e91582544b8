import { MANIFEST_FILE, type CodeOrigins } from '@bulkhead/contract'
import { isJsonObject, pointerKey, type Json } from '@bulkhead/kit/json'
import { placeInJson } from '@bulkhead/kit/json-edit'
import { parseStrictJson } from '../files/json-file.ts'
import type { Fault } from '../model/result.ts'
import { PACKAGE_FILE } from '../prove/check-manifest.ts'

type Files = ReadonlyMap<string, Uint8Array>

interface Packing {
  /** The files of the folder. */
  readonly written: Files
  /** The files of the package. */
  readonly built: Files
  /** Set if the manifest was generated from code. */
  readonly origins?: CodeOrigins | undefined
}

/** Names the file that was written, and its line: that of a manifest, or of the code that declares it. */
export async function writtenFault(fault: Fault, { written, built, origins }: Packing): Promise<Fault> {
  const { file, path, location } = fault
  const isOfManifest = file === MANIFEST_FILE || (file === undefined && origins !== undefined)
  if (path === '' || location !== undefined || (file !== PACKAGE_FILE && !isOfManifest)) return fault
  if (file === PACKAGE_FILE) return inJson(fault, PACKAGE_FILE, path, written)
  const steps = stepsOf(path, built)
  if (origins === undefined || !OF_CODE.has(steps[0]!)) {
    if (written.has(MANIFEST_FILE)) return inJson(fault, MANIFEST_FILE, path, written)
    return inJson(fault, PACKAGE_FILE, (origins && OF_PACKAGE.get(path)) ?? `/bulkhead${path}`, written)
  }
  const place = await origins.declarationOf(steps)
  return { ...fault, file: place === undefined ? origins.main : `${place.file}, line ${place.line}` }
}

/** Keys of a generated manifest that the code declares, and those that are in package.json under another name. */
const OF_CODE: ReadonlySet<string> = new Set(['tools', 'env', 'secrets', 'stateSlot', 'configSchema'])
const OF_PACKAGE: ReadonlyMap<string, string> =
  new Map([['/id', '/name'], ['/version', '/version'], ['/description', '/description']])

function inJson(fault: Fault, file: string, pointer: string, files: Files): Fault {
  const bytes = files.get(file)
  if (bytes === undefined || !parseStrictJson(bytes).ok) return fault
  return { ...fault, file: `${file}, line ${placeInJson(Buffer.from(bytes).toString(), pointer)}` }
}

/** The steps of a pointer into the manifest, with a tool by its name. */
function stepsOf(pointer: string, files: Files): readonly string[] {
  const steps = pointer.split('/').slice(1).map(pointerKey)
  const bytes = files.get(MANIFEST_FILE)
  const parsed = bytes && parseStrictJson(bytes)
  const tools = parsed?.ok && isJsonObject(parsed.value) ? parsed.value['tools'] : undefined
  const tool: Json | undefined = steps[0] === 'tools' && Array.isArray(tools) ? tools[Number(steps[1])] : undefined
  const name = tool !== undefined && isJsonObject(tool) ? tool['name'] : undefined
  return typeof name === 'string' ? steps.with(1, name) : steps
}
