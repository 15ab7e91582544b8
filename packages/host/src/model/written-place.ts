import type { LayerConfig } from '@bulkhead/contract'

/** Where an entry of a list was written, as a JSON Pointer: those before it that could not be read are not among the others. */
export function writtenPlace({ omitted = [] }: Pick<LayerConfig, 'omitted'>, list: string, index: number): string {
  const missing = omitted.flatMap((pointer) => pointer.startsWith(`${list}/`) ? [Number(pointer.slice(list.length + 1))] : [])
  const written = missing.toSorted((a, b) => a - b).reduce((place, gap) => gap <= place ? place + 1 : place, index)
  return `${list}/${written}`
}
