/** As much of a schema of zod as is looked at here. */
export interface Described {
  readonly _zod: { readonly def: object }
}

/** What stands around a schema and changes nothing about its keys. */
const WRAPPERS: ReadonlySet<unknown> = new Set(['optional', 'nullable', 'default', 'prefault', 'nonoptional', 'readonly', 'catch'])

/** The keys that an object may have at this place of a value; none where the place is no object, or one with keys of any name. */
export function knownKeys(schema: Described, path: readonly PropertyKey[]): readonly string[] {
  return placesAt([schema], path).flatMap((place) => Object.keys(definition(place)['shape'] ?? {}))
}

/** The texts that may stand at this place of a value, where there are few. */
export function knownValues(schema: Described, path: readonly PropertyKey[]): readonly string[] {
  return placesAt([schema], path).flatMap((place) => (definition(place)['values'] ?? []) as readonly unknown[]).filter((value) => typeof value === 'string')
}

function placesAt(schemas: readonly Described[], path: readonly PropertyKey[]): readonly Described[] {
  const here = schemas.flatMap(branches)
  const [step, ...rest] = path
  return step === undefined ? here : placesAt(here.flatMap((schema) => childAt(schema, step) ?? []), rest)
}

function childAt(schema: Described, step: PropertyKey): Described | undefined {
  const { shape, element, valueType } = definition(schema)
  return (shape === undefined ? element ?? valueType : new Map<PropertyKey, unknown>(Object.entries(shape)).get(step)) as Described | undefined
}

function branches(schema: Described): readonly Described[] {
  const { type, options, innerType, in: taken } = definition(schema)
  if (type === 'union') return (options as readonly Described[]).flatMap(branches)
  if (type === 'pipe') return branches(taken as Described)
  return WRAPPERS.has(type) ? branches(innerType as Described) : [schema]
}

const definition = ({ _zod: { def } }: Described): Readonly<Record<string, unknown>> & { readonly shape?: object } => def as never
