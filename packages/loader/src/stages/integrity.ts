import type { Compiled, Terms, Vouched } from '../describe/extension.ts'
import { INTEGRITY_FILE } from '../files/integrity-file.ts'
import { packagePolicy } from '../prove/package-policy.ts'
import { pass, passUnless, refuse, type Fault, type StageResult } from '../model/result.ts'

/**
 * Compares the package with the integrity file it carries, when it does. This tells damage and leftovers from what was
 * packed; who packed it is not known before a signature says so.
 */
export function integrity(compiled: Compiled, terms: Terms): StageResult<Vouched> {
  if (compiled.origin.kind === 'module') return pass({ ...compiled, integrity: 'bundled' })
  const differences = compiled.origin.evidence.integrity()
  if (differences !== undefined) return passUnless(differences, { ...compiled, integrity: 'verified' })

  const { layer, outline: { id } } = compiled
  const { integrity: policy } = packagePolicy(terms, compiled)
  const who = layer === 'bundled' ? 'the folder that ships with the host' : `the policy for "${id}" in the ${layer} layer`
  const missing: Fault = {
    stage: 'integrity', code: 'IntegrityTokenMissing', path: '', message: `The package has no ${INTEGRITY_FILE} and ${who} asks for one.`,
  }
  if (policy === 'require') return refuse(missing)
  return pass({ ...compiled, integrity: 'unpinned' }, policy === 'warn' ? [missing] : [])
}
