import type { Shaped } from '../describe/extension.ts'
import { pass, refuse, type StageResult } from '../model/result.ts'

/** The module that the manifest names is in the package. What is in it is nobody's business before it runs. */
export function mainFile(shaped: Shaped): StageResult<Shaped> {
  const { manifest: { main }, origin } = shaped
  if (origin.kind === 'module' || origin.evidence.fileDigests().has(main.slice('./'.length))) return pass(shaped)
  return refuse({
    stage: 'shape', code: 'ShapeInvalid', path: '/main', message: `The module "${main}" is not in the package.`,
    cure: 'Build the extension, or correct main.',
  })
}
