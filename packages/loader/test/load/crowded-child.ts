/** Checks a schema and a signature without free file descriptors, and again with some. */
import { closeSync, openSync } from 'node:fs'
import { LOADER_LIMITS } from '../../src/model/limits.ts'
import { InProcessSchemaChecker } from '../../src/schema/schema-checker.ts'
import { PackageSignatures } from '../../src/signature/package-signatures.ts'

const schemas = new InProcessSchemaChecker(LOADER_LIMITS)
const signatures = new PackageSignatures({ source: 'the test', date: null, json: {} })
const bytes = Buffer.from('{}')
const codeOf = (error: { readonly code?: string; readonly fault?: string }): string | undefined =>
  error.fault ?? error.code
const checkBoth = () => Promise.all([
  schemas.inspect({ type: 'object' }).then(({ ok }) => ok, codeOf),
  signatures.verify(bytes, bytes).then((result) => result.ok || result.fault.step, codeOf),
])

const held: number[] = []
try {
  for (;;) held.push(openSync('/dev/null', 'r'))
} catch {
  // None is left.
}
const crowded = await checkBoth()
for (const descriptor of held) closeSync(descriptor)
process.stdout.write(JSON.stringify({ crowded, later: await checkBoth() }))
