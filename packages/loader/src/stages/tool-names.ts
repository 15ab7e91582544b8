import type { Shaped } from '../extension.ts'
import { passUnless, type Fault, type StageResult } from '../result.ts'

/** Each tool of a manifest has a name of its own, also where case is ignored: a person must be able to tell them apart. */
export function toolNames(shaped: Shaped): StageResult<Shaped> {
  const seen = new Map<string, string>()
  const faults = shaped.manifest.tools.flatMap(({ name }, index): Fault[] => {
    const twin = seen.get(name.toLowerCase())
    seen.set(name.toLowerCase(), name)
    if (twin === undefined) return []
    const message = twin === name ? `The manifest declares the tool "${name}" twice.` : `The tools "${twin}" and "${name}" differ in case only.`
    return [{ stage: 'shape', code: 'ShapeInvalid', path: `/tools/${index}/name`, message, cure: 'Give each tool a name of its own.' }]
  })
  return passUnless(faults, shaped)
}
