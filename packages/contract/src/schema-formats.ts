/**
 * What `format` may say in a schema of a manifest: those whose check is quick for every text. Another one is a fault of the schema,
 * never silently ignored; whoever translates a foreign schema leaves it out.
 */
export const SCHEMA_FORMATS = Object.freeze([
  'date', 'time', 'date-time', 'duration', 'uri', 'uri-reference', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid', 'json-pointer',
  'int32', 'int64', 'float', 'double', 'password', 'binary',
] as const)
