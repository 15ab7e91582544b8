import type { Shaped } from '../describe/extension.ts'
import { passUnless, type Fault, type StageResult } from '../model/result.ts'

/** No two tools of a manifest differ in case only: a person who is asked must be able to tell them apart. */
export function toolNames(shaped: Shaped): StageResult<Shaped> {
  const seen = new Map<string, string>()
  return passUnless(shaped.manifest.tools.flatMap(({ name }, index): Fault[] => {
    const twin = seen.get(name.toLowerCase())
    seen.set(name.toLowerCase(), name)
    if (twin === undefined) return []
    return [{
      stage: 'shape', code: 'ShapeInvalid', path: `/tools/${index}/name`,
      message: `The tools "${twin}" and "${name}" differ in case only.`,
      cure: 'Give each tool a name of its own.',
    }]
  }), shaped)
}
