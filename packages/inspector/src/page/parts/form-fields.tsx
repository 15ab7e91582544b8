import type { FormField, FormSchema, FormValue, FormValues } from '@bulkhead/kit/form'
import { shown } from '../model/words.ts'

export const initialValues = ({ properties }: FormSchema): FormValues =>
  Object.fromEntries(
    Object.entries(properties).flatMap(([name, field]) => {
      const initial = field.default ?? (field.type === 'boolean' ? false : undefined)
      return initial === undefined ? [] : [[name, initial]]
    }),
  )

interface Fields {
  readonly schema: FormSchema
  readonly values: FormValues
  /** What is wrong with what was filled in, for a form of one field. */
  readonly fault?: string | undefined
  onChange(values: FormValues): void
}

/** At the field, and read aloud when it appears. */
export const FieldFault = ({ children }: { children?: string | undefined }) =>
  children === undefined ? null : (
    <span class="field-fault" role="alert">
      {shown(children)}
    </span>
  )

/** One field for each property of a flat schema. */
export function FormFields({ schema, values, fault, onChange }: Fields) {
  const set = (name: string, value: FormValue | undefined): void => {
    const { [name]: _, ...others } = values
    onChange(value === undefined ? others : { ...others, [name]: value })
  }
  return (
    <>
      {Object.entries(schema.properties).map(([name, field]) => (
        <label class={field.type === 'boolean' ? 'row tight' : 'field'} key={name}>
          <span>
            {shown(field.title ?? name)}
            {field.description && <span class="quiet"> {shown(field.description)}</span>}
          </span>
          <Field
            name={name}
            field={field}
            isRequired={schema.required?.includes(name) === true}
            value={values[name]}
            isWrong={fault !== undefined}
            onChange={(value) => set(name, value)}
          />
          <FieldFault>{fault}</FieldFault>
        </label>
      ))}
    </>
  )
}

interface OneField {
  readonly name: string
  readonly field: FormField
  readonly isRequired: boolean
  readonly isWrong: boolean
  readonly value: FormValue | undefined
  onChange(value: FormValue | undefined): void
}

function Field({ name, field, isRequired, isWrong, value, onChange }: OneField) {
  const choices = choicesOf(field)
  if (choices !== undefined) {
    const multiple = field.type === 'array'
    const picked = multiple ? [value ?? []].flat().map(String) : String(value ?? '')
    return (
      <select
        name={name}
        multiple={multiple}
        required={isRequired}
        aria-invalid={isWrong}
        onChange={({ currentTarget: { selectedOptions } }) => {
          const all = Array.from(selectedOptions, (one) => one.value)
          onChange(multiple ? all : all[0] || undefined)
        }}
      >
        {!multiple && <option value="" selected={picked === ''} />}
        {choices.map(([own, title]) => (
          <option value={own} selected={multiple ? picked.includes(own) : picked === own}>
            {shown(title)}
          </option>
        ))}
      </select>
    )
  }
  if (field.type === 'boolean') {
    return (
      <input
        type="checkbox"
        name={name}
        checked={value === true}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    )
  }
  const isNumber = field.type === 'number' || field.type === 'integer'
  const types = { email: 'email', uri: 'url', date: 'date', 'date-time': 'text' } as const
  return (
    <input
      name={name}
      type={(isNumber ? 'number' : field.format === undefined ? 'text' : types[field.format]) as 'text'}
      required={isRequired}
      aria-invalid={isWrong}
      step={field.type === 'number' ? 'any' : undefined}
      min={field.minimum}
      max={field.maximum}
      minLength={field.minLength}
      maxLength={field.maxLength}
      autocomplete="off"
      value={value === undefined ? '' : String(value)}
      onInput={({ currentTarget: { value: text, valueAsNumber } }) =>
        onChange(text === '' ? undefined : isNumber ? valueAsNumber : text)
      }
    />
  )
}

function choicesOf({
  enum: values,
  enumNames,
  oneOf,
  items,
}: FormField): readonly (readonly [string, string])[] | undefined {
  const titled = oneOf ?? items?.anyOf
  if (titled !== undefined) return titled.map(({ const: own, title }) => [own, title])
  return (values ?? items?.enum)?.map((own, at) => [own, enumNames?.[at] ?? own])
}
