import { z } from 'zod'
import { extensionId, packageVersion } from './fields.ts'

const count = z.int().nonnegative()

const counts = z.object({
  passed: count.describe('Checks that found no fault.'),
  failed: count.describe('Checks that found one.'),
  skipped: count.describe('Checks that could not run.'),
})

const check = z.object({
  id: z.string().min(1).describe('The requirement.'),
  group: z.string().min(1).describe('The experiment that it belongs to.'),
  level: z.enum(['must', 'should']).describe('An extension that breaks a must does not conform. A should is advice.'),
  ok: z.boolean().nullable().describe('null: the check could not run.'),
  evidence: z.string().exactOptional().describe('What breaks the requirement, or why the check could not run.'),
})

/** What `bulkhead conformance --json` prints. Later versions may add members, so unknown ones are accepted. */
export const conformanceReportSchema = z.object({
  extension: z.object({
    id: extensionId.describe('Its id.'), version: packageVersion.describe('Its version.'),
  }).describe('The extension that was checked.'),
  digest: z.string().regex(/^[0-9a-f]{128}$/, 'a sha512 in lower-case hex')
    .describe('Digest of all files of the package, as in bulkhead.lock.'),
  host: z.object({
    version: z.string().min(1).describe('The version of Bulkhead.'),
    node: z.string().min(1).describe('The version of Node.'),
    platform: z.string().min(1).describe('The operating system and the processor.'),
  }).describe('Where it was checked.'),
  seed: count.describe('Repeats the generated arguments: bulkhead conformance --seed.'),
  checks: z.array(check).describe('One entry for each requirement that was chosen.'),
  summary: z.object({
    must: counts.describe('Of the requirements of level must.'),
    should: counts.describe('Of the requirements of level should.'),
    conforms: z.boolean().describe('Whether no must failed or was skipped.'),
  }).describe('The checks, counted.'),
})

/** The result of a conformance run, for programs. */
export type ConformanceReport = z.output<typeof conformanceReportSchema>
