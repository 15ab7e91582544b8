import { manifestSchema } from '@bulkhead/contract/validation'
import { expect, it } from 'vitest'
import { bundledExtensions } from '../../index.ts'

const bundled = bundledExtensions.find(({ manifest: { id } }) => id === 'bash')!
const manifest = manifestSchema.parse(bundled.manifest)

it('the manifest of bash has the expected schema', () => {
  expect(manifest.tools[0]).toMatchObject({
    name: 'bash', gated: true, mode: 'local', kind: 'execute', timeoutMs: 130_000,
    inputSchema: { type: 'object', required: ['command'], additionalProperties: false },
    requires: {
      fs: { read: ['{workspace}'], write: ['{workspace}'] }, net: { hosts: ['*'] },
      shell: [{ cmd: '*', args: [{ rest: true }] }],
    },
  })
  expect(Object.keys(manifest.tools[0]!.inputSchema.properties as object)).toEqual([
    'command', 'timeout_ms', 'cwd', 'description',
  ])
})
