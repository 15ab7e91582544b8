import type { JsonObject } from '@bulkhead/kit/json'

/** A zod schema, or any other that implements Standard Schema. */
export interface TypedSchema {
  readonly '~standard': {
    readonly types?: { readonly input: unknown; readonly output: unknown } | undefined
    validate(value: unknown): Parsed | Promise<Parsed>
  }
}

interface Parsed {
  readonly value?: unknown
  readonly issues?: readonly {
    readonly message: string
    readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
  }[] | undefined
}

export const isTypedSchema = (value: unknown): value is TypedSchema =>
  typeof value === 'object' && value !== null && '~standard' in value

/** The type of the arguments: from the types of the schema library, or from a JSON Schema literal. */
export type ArgsOf<Schema> = Schema extends TypedSchema
  ? NonNullable<Schema['~standard']['types']>['output']
  : Schema extends object ? FromJsonSchema<Schema> : JsonObject

/** The type of a JSON Schema 2020-12 literal. Anything that a type cannot express is `unknown`. */
export type FromJsonSchema<S> =
  S extends { readonly const: infer Value } ? Value
    : S extends { readonly enum: readonly (infer Value)[] } ? Value
      : S extends { readonly anyOf: readonly (infer Option)[] } ? FromJsonSchema<Option>
        : S extends { readonly oneOf: readonly (infer Option)[] } ? FromJsonSchema<Option>
          : S extends { readonly type: infer Type } ? FromType<Type, S> : unknown

type FromType<Type, S> =
  Type extends readonly (infer Option)[] ? FromType<Option, S>
    : Type extends 'string' ? string
      : Type extends 'number' | 'integer' ? number
        : Type extends 'boolean' ? boolean
          : Type extends 'null' ? null
            : Type extends 'array' ? readonly ItemOf<S>[]
              : Type extends 'object' ? FromObject<S> : unknown

type ItemOf<S> = S extends { readonly items: infer Items } ? FromJsonSchema<Items> : unknown

type FromObject<S> = S extends { readonly properties: infer Members }
  ? Flat<
    & { readonly [Key in keyof Members as Key extends RequiredKeys<S> ? Key : never]: FromJsonSchema<Members[Key]> }
    & { readonly [Key in keyof Members as Key extends RequiredKeys<S> ? never : Key]?: FromJsonSchema<Members[Key]> }
  >
  : { readonly [key: string]: unknown }

type RequiredKeys<S> = S extends { readonly required: readonly (infer Key)[] } ? Key : never
type Flat<T> = { [Key in keyof T]: T[Key] }
