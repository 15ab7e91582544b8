import { styleText } from 'node:util'
import type { Diagnostic } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import type { ExtensionStatus, ReloadChange } from '@bulkhead/host'
import { diagnosticText, faultJson, jsonText, table } from '../output.ts'
import { defineCommand } from '../command.ts'
import { COMMON_OPTIONS, openHost } from '../host-options.ts'

export const reload = defineCommand({
  usage: '[ID…]',
  operands: { ID: { text: 'extensions to test (default: all except the bundled ones)', completes: 'extension' } },
  options: COMMON_OPTIONS,
  details: `Runs the checks that a running host runs before it loads a change: verifies each extension on disk, starts
it in its own compartment, runs init and activate, and stops it. This command does not affect running hosts. They load
changes when they watch the files, or when the application calls reload().`,
  exits: ['if all extensions pass', 'if one fails'],
  examples: [
    { command: 'bulkhead reload', text: 'does every extension start and stop' },
    { command: 'bulkhead reload word-count', text: 'only this one, after a change' },
  ],

  async run({ values, positionals }) {
    await using host = await openHost(values)
    const loaded = host.extensions().filter(({ availability }) => availability === 'offered')
    const isWanted = (id: string) => positionals.length === 0 || positionals.includes(id)
    const diagnostics = host.diagnostics.filter(({ extensionId }) => extensionId === null || isWanted(extensionId))
    const disabled = new Set(diagnostics.map(({ extensionId }) => extensionId))
    const all = loaded.filter(({ layer }) => layer !== 'bundled').map(({ id }) => id)
    // Disabled extensions are reported by their diagnostic. For other unknown ids, reload() reports the error.
    const ids = positionals.length === 0
      ? all
      : positionals.filter((id) => !disabled.has(id) || loaded.some((one) => one.id === id))
    const { changes } = ids.length === 0 ? { changes: [] } : await host.reload({ extensions: ids })
    process.stdout.write(values.json ? toJson(changes, diagnostics) : toText(changes, loaded, diagnostics))
    const isWell = changes.every(({ error }) => error === undefined)
      && diagnostics.every(({ severity }) => severity !== 'error')
    return isWell ? 0 : 1
  },
})

function toJson(changes: readonly ReloadChange[], diagnostics: readonly Diagnostic[]): string {
  const plain = changes.map(({ extension, layer, error }) =>
    ({ extension, layer, stands: error === undefined, ...(error ? { error: faultJson(error) } : {}) }))
  return jsonText({ extensions: plain, diagnostics })
}

function toText(
  changes: readonly ReloadChange[], loaded: readonly ExtensionStatus[], diagnostics: readonly Diagnostic[],
): string {
  const versions = new Map(loaded.map(({ id, version }) => [id, version]))
  const rows = changes.map(({ extension, layer, error }) =>
    [extension, versions.get(extension) ?? '-', layer, error ? `no: ${error.code}` : 'yes'])
  const faults = changes.flatMap(({ extension, error }) => {
    if (!error) return []
    const message = visibleText(error.message, { keepLines: true })
    return [`\n${styleText('red', error.code)} in ${visibleText(extension)}\n  ${message}\n`]
  })
  const listed = rows.length === 0 ? 'Nothing was started.\n' : table(['EXTENSION', 'VERSION', 'LAYER', 'PASSES'], rows)
  return listed + faults.join('') + diagnostics.map((found) => diagnosticText(found)).join('')
}
