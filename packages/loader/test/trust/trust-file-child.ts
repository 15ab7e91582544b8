/** Appends a line to the trust file, and prints the result. */
import { BulkheadError } from '@bulkhead/contract'
import { appendTrustEntry } from '../../src/trust/trust-file.ts'

const [file = '', path = ''] = process.argv.slice(2)
try {
  appendTrustEntry(file, { id: 'one', path, decision: 'revoked', decidedAt: new Date().toISOString(), digest: null })
  process.stdout.write('kept')
} catch (error) {
  process.stdout.write(BulkheadError.from(error).code)
}
