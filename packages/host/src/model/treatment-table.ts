import {
  TREATMENT_PRESETS, TREATMENTS, type ConfigFile, type ToolMode, type Treatment,
} from '@bulkhead/contract'

/** How calls are treated by the mode of their tool. */
export type TreatmentTable = Readonly<Record<ToolMode, Treatment>>

/** Of the merged configuration. The policy of the machine makes it stricter. */
export function treatmentTable({ treatment }: ConfigFile, { treatment: least }: ConfigFile): TreatmentTable {
  const preset = TREATMENT_PRESETS[treatment?.preset ?? 'default']
  const wanted = (mode: ToolMode): Treatment => treatment?.[mode] ?? preset[mode]
  const stricter = (one: Treatment, other: Treatment = 'run'): Treatment =>
    TREATMENTS.indexOf(one) <= TREATMENTS.indexOf(other) ? one : other
  return Object.fromEntries((Object.keys(preset) as ToolMode[])
    .map((mode) => [mode, stricter(wanted(mode), least?.[mode])])) as TreatmentTable
}
