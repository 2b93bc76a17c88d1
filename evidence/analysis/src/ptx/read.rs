//! Reads PTX.

use crate::ptx::{Declared, Function, Object, Operand, Program, Space, Statement, Variable};

/// Special registers that say where a thread is, and how much there is of what (PTX ISA, section on special registers), without `.x`,
/// `.y` and `.z`. Clocks and counters are not included.
const SPECIAL: [&str; 23] = [
    "%aggr_smem_size",
    "%cluster_ctaid",
    "%cluster_ctarank",
    "%cluster_nctaid",
    "%cluster_nctarank",
    "%clusterid",
    "%ctaid",
    "%dynamic_smem_size",
    "%gridid",
    "%laneid",
    "%lanemask_eq",
    "%lanemask_ge",
    "%lanemask_gt",
    "%lanemask_le",
    "%lanemask_lt",
    "%nclusterid",
    "%nctaid",
    "%nsmid",
    "%ntid",
    "%nwarpid",
    "%smid",
    "%tid",
    "%warpid",
];

/// A piece of the text that ends with `;`, `:`, `{` or `}`.
struct Piece {
    line: usize,
    text: String,
    end: char,
}

impl Program {
    /// Parses a module from text.
    ///
    /// # Errors
    /// In words, with the line, if it is not understood.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut program = Self::default();
        let mut function = None;
        // The open scopes.
        let mut open: Vec<usize> = vec![];
        for piece in pieces(text)? {
            let Piece { line, text, end } = piece;
            let wrong = |what: String| format!("line {line}: {what}");
            let head = text.replace(['(', '\n', '\t'], " ");
            let is_function = head.split(' ').any(|word| word == ".entry" || word == ".func");
            match (end, function) {
                ('{', None) if is_function => {
                    function = Some(program.begin(&text).map_err(wrong)?);
                    open = vec![0];
                }
                ('{', Some(function)) if text.is_empty() => {
                    let function: &mut Function = &mut program.functions[function];
                    function.scopes.extend(open.last());
                    open.push(function.scopes.len());
                }
                ('}', Some(number)) if text.is_empty() => {
                    open.pop();
                    if open.is_empty() {
                        program.functions[number].resolve();
                        function = None;
                    }
                }
                (':', Some(function)) => {
                    let function: &mut Function = &mut program.functions[function];
                    let next = function.statements.len();
                    let scope = open.last().copied().unwrap_or_default();
                    if function.labels.insert((scope, text.clone()), next).is_some() {
                        return Err(wrong(format!("the label `{text}` is there twice")));
                    }
                }
                (';', _) if text.is_empty() || (is_function && function.is_none()) => {}
                (';', _) if text.starts_with('.') => {
                    program.declare(function, open.last().copied(), &text).map_err(wrong)?
                }
                (';', Some(function)) => {
                    let scope = open.last().copied().unwrap_or_default();
                    program.statement(function, scope, line, &text).map_err(wrong)?;
                }
                _ => return Err(wrong(format!("`{text}{end}` is not understood"))),
            }
        }
        if open.is_empty() { Ok(program) } else { Err("the text ends within a function".into()) }
    }

    /// The head of a function: `.entry NAME(PARAMETERS) ...` or `.func (RESULT) NAME(PARAMETERS)`.
    fn begin(&mut self, text: &str) -> Result<usize, String> {
        let number = self.functions.len();
        let is_entry = text.contains(".entry");
        let (_, rest) = text.split_once(if is_entry { ".entry" } else { ".func" }).ok_or("no function")?;
        let group = |rest: &str| -> Option<(String, String, String)> {
            let (before, rest) = rest.split_once('(')?;
            let (inside, after) = rest.split_once(')')?;
            Some((before.trim().into(), inside.into(), after.into()))
        };
        self.functions.push(Function { is_entry, ..Function::default() });
        let (mut name, mut parameters, after) =
            group(rest).unwrap_or((rest.trim().into(), String::new(), String::new()));
        if name.is_empty() {
            self.functions[number].results = self.parameters(number, &parameters)?;
            (name, parameters, _) = group(&after).unwrap_or((after.trim().into(), String::new(), String::new()));
        }
        self.functions[number].name = name.split_whitespace().next_back().unwrap_or_default().into();
        self.functions[number].parameters = self.parameters(number, &parameters)?;
        Ok(number)
    }

    fn parameters(&mut self, function: usize, list: &str) -> Result<Vec<Object>, String> {
        let list = list.split(',').map(str::trim).filter(|text| !text.is_empty());
        list.map(|text| self.object(Some(function), Space::Parameter, text)).collect()
    }

    /// `.reg .b32 %r<10>`, `.shared .align 4 .u32 x`, `.param .b32 p`, `.pragma "..."`.
    fn declare(&mut self, function: Option<usize>, scope: Option<usize>, text: &str) -> Result<(), String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let space = |word: &&str| match *word {
            ".shared" => Some(Space::Shared),
            ".local" => Some(Space::Local),
            ".global" | ".const" => Some(Space::Global),
            ".param" => Some(Space::Parameter),
            _ => None,
        };
        if words[0] == ".reg" {
            let (Some(function), Some(scope)) = (function, scope) else {
                return Err("a register outside of a function".into());
            };
            let function = &mut self.functions[function];
            let of_type = words.get(1).ok_or("a register without a type")?;
            let (_, names) = text.split_once(of_type).ok_or("a register without a name")?;
            for name in names.split(',').map(str::trim) {
                if let Some((family, count)) = name.split_once('<') {
                    let count = count.strip_suffix('>').and_then(|count| count.parse().ok());
                    let count =
                        count.ok_or_else(|| format!("the number of registers in `{name}` is not understood"))?;
                    function.families.insert((scope, family.into()), count);
                } else {
                    function.register(scope, name);
                }
            }
            Ok(())
        } else if let Some(space) = words.iter().find_map(space) {
            let (declaration, values) = text.split_once('=').unwrap_or((text, ""));
            let object = self.object(function, space, declaration)?;
            let values = values.trim().trim_start_matches('{').trim_end_matches('}');
            let listed: Option<Vec<u8>> = split(values).into_iter().map(|value| value.parse().ok()).collect();
            let declared = &mut self.objects[object];
            declared.bytes = listed.filter(|bytes| bytes.len() as u64 == declared.variable.bytes).unwrap_or_default();
            Ok(())
        } else if words[0] == ".pragma" {
            Ok(())
        } else {
            Err(format!("`{text}` is not understood"))
        }
    }

    /// `.shared .align 16 .b8 name[64]`.
    fn object(&mut self, function: Option<usize>, space: Space, declaration: &str) -> Result<Object, String> {
        let words: Vec<&str> = declaration.split_whitespace().collect();
        let last = *words.last().ok_or("a declaration of nothing")?;
        let (name, count) = match last.split_once('[') {
            Some((name, count)) => (name, count.trim_end_matches(']')),
            None => (last, "1"),
        };
        let wrong = |what| format!("{what} of `{declaration}` is not understood");
        let bits = |word: &&str| match word.strip_prefix(".")?.split_at_checked(1)? {
            ("b" | "u" | "s" | "f", bits) => bits.parse::<u64>().ok(),
            _ => None,
        };
        let of_type = words.iter().find_map(bits).filter(|bits| bits.is_multiple_of(8));
        let of_type = of_type.ok_or_else(|| wrong("the type"))? / 8;
        if words.iter().any(|word| word.starts_with(".v") && *word != ".visible") {
            return Err(wrong("a vector"));
        }
        // An array without a size gets its size at launch.
        let count = if count.is_empty() { 0 } else { count.parse::<u64>().map_err(|_| wrong("the size"))? };
        let bytes = of_type.checked_mul(count).ok_or_else(|| wrong("the size"))?;
        let align = match words.iter().position(|word| *word == ".align") {
            Some(at) => words.get(at + 1).and_then(|align| align.parse().ok()).ok_or_else(|| wrong("the alignment"))?,
            None => of_type,
        };
        let names = match function {
            Some(function) => &mut self.functions[function].objects,
            None => &mut self.globals,
        };
        let next = self.objects.len();
        let number = *names.entry(name.into()).or_insert(next);
        if number == next {
            let variable = Variable { name: name.into(), bytes, align };
            self.objects.push(Declared { space, variable, bytes: vec![], function });
        } else if space != Space::Parameter {
            // Parameters of calls have the same names in each.
            return Err(format!("`{name}` is declared twice"));
        }
        Ok(number)
    }

    fn statement(&mut self, function: usize, scope: usize, line: usize, text: &str) -> Result<(), String> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (guard, rest) = match text.strip_prefix('@') {
            Some(rest) => {
                rest.split_once(' ').map(|(guard, rest)| (Some(guard), rest)).ok_or("a predicate of nothing")?
            }
            None => (None, text.as_str()),
        };
        let (opcode, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let operands =
            split(rest).into_iter().map(|text| self.operand(function, scope, text)).collect::<Result<_, _>>()?;
        let is_negated = guard.is_some_and(|guard| guard.starts_with('!'));
        let guard = match guard.map(|guard| self.operand(function, scope, guard.trim_start_matches('!'))).transpose()? {
            Some(Operand::Register(register)) => Some((register, is_negated)),
            Some(_) => return Err("a predicate that is no register".into()),
            None => None,
        };
        let statement = Statement { line, guard, scope, opcode: opcode.into(), operands, text: text.clone() };
        self.functions[function].statements.push(statement);
        Ok(())
    }

    fn operand(&mut self, function: usize, scope: usize, text: &str) -> Result<Operand, String> {
        let text = text.trim();
        let within = |open, close| text.strip_prefix(open).and_then(|text: &str| text.strip_suffix(close));
        let mut list = |list: Vec<&str>| {
            list.into_iter().map(|text| self.operand(function, scope, text)).collect::<Result<Vec<_>, _>>()
        };
        if let Some(address) = within('[', ']') {
            return Ok(Operand::Address(list(address.split(['+', ',']).collect())?));
        }
        if let Some(several) = within('{', '}').or_else(|| within('(', ')')) {
            return Ok(Operand::Several(list(split(several))?));
        }
        // Two destinations: `%r1|%p1`.
        if text.contains('|') {
            return Ok(Operand::Several(list(text.split('|').collect())?));
        }
        if let Some(sum) = text.split_once('+') {
            return Ok(Operand::Address(list(vec![sum.0, sum.1])?));
        }
        if let Some(number) = number(text) {
            return Ok(Operand::Number(number));
        }
        if text.trim_start_matches('-').starts_with(|sign: char| sign.is_ascii_digit()) {
            return Ok(Operand::Float);
        }
        let name = text.trim_start_matches(['!', '-', '~']);
        let names = &mut self.functions[function];
        if let Some(register) = names.find_register(scope, name) {
            return Ok(Operand::Register(register));
        }
        if let Some(object) = names.objects.get(name).or_else(|| self.globals.get(name)) {
            return Ok(Operand::Object(*object));
        }
        let family = name.split_once('.').map_or(name, |(family, _)| family);
        if name == "_" || SPECIAL.contains(&family) {
            Ok(Operand::Special(name.into()))
        } else if name.starts_with('%') {
            Err(format!("`{name}` is no register that is declared, and none of the processor's that is known"))
        } else {
            Ok(Operand::Name(name.into()))
        }
    }
}

impl Function {
    /// A scope and the scopes around it, from the inside out.
    fn around(&self, scope: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(scope), |inner| inner.checked_sub(1).map(|inner| self.scopes[inner]))
    }

    /// Finds the labels that branches name.
    fn resolve(&mut self) {
        for n in 0..self.statements.len() {
            let Statement { operands, scope, .. } = &self.statements[n];
            let Some(Operand::Name(name)) = operands.first() else { continue };
            let target = self.around(*scope).find_map(|scope| self.labels.get(&(scope, name.clone())));
            if let Some(&target) = target {
                self.statements[n].operands[0] = Operand::Label(target);
            }
        }
    }

    fn register(&mut self, scope: usize, name: &str) -> usize {
        let next = self.names.len();
        let register = *self.names.entry((scope, name.into())).or_insert(next);
        self.registers = self.names.len();
        register
    }

    fn find_register(&mut self, scope: usize, name: &str) -> Option<usize> {
        // `%tid.x` is not such a register; the family of `%rd12` is `%rd`.
        let family = name.trim_end_matches(|sign: char| sign.is_ascii_digit());
        let is_declared = |scope: &usize| {
            let count = self.families.get(&(*scope, family.into()));
            let is_of_family =
                || name[family.len()..].parse::<usize>().is_ok_and(|n| count.is_some_and(|count| n < *count));
            self.names.contains_key(&(*scope, name.into())) || is_of_family()
        };
        let scope = self.around(scope).find(is_declared)?;
        Some(self.register(scope, name))
    }
}

/// An immediate, which may be a product.
fn number(text: &str) -> Option<i64> {
    if let Some((a, b)) = text.split_once('*') {
        return Some(number(a.trim())?.wrapping_mul(number(b.trim())?));
    }
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    if !digits.starts_with(|sign: char| sign.is_ascii_digit()) {
        return None;
    }
    let digits = digits.trim_end_matches('U');
    let (digits, radix) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&digits[2..], 16),
        [b'0', b'b' | b'B', ..] => (&digits[2..], 2),
        [b'0', _, ..] => (&digits[1..], 8),
        _ => (digits, 10),
    };
    u64::from_str_radix(digits, radix).ok().map(|number| i64::wrapping_mul(sign, number as i64))
}

/// The parts between commas that are not in brackets.
fn split(list: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, sign) in list.char_indices() {
        match sign {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(list[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(list[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

fn pieces(text: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let (mut piece, mut line_of_piece) = (String::new(), 0);
    // Braces around the elements of a vector or the values of a table.
    let mut inner = 0;
    for (number, line) in text.lines().enumerate() {
        let line = line.split("//").next().unwrap_or(line).trim();
        let alone = [".version", ".target", ".address_size", ".file", ".loc"];
        if line.split_whitespace().next().is_some_and(|word| alone.contains(&word)) {
            continue;
        }
        for (at, sign) in line.char_indices() {
            if piece.trim().is_empty() {
                line_of_piece = number + 1;
            }
            let is_label = sign == ':'
                && !line[at + 1..].starts_with(':')
                && !piece.ends_with(':')
                && !piece.trim().contains([' ', '.', '%']);
            let begins = piece.trim().is_empty() || piece.contains(".entry") || piece.contains(".func");
            match sign {
                '{' if !begins || inner > 0 => inner += 1,
                '}' if inner > 0 => inner -= 1,
                ';' | '{' | '}' if inner == 0 => {
                    let text = std::mem::take(&mut piece).trim().into();
                    pieces.push(Piece { line: line_of_piece, text, end: sign });
                    continue;
                }
                ':' if is_label => {
                    let text = std::mem::take(&mut piece).trim().into();
                    pieces.push(Piece { line: line_of_piece, text, end: ':' });
                    continue;
                }
                _ => {}
            }
            piece.push(sign);
        }
        piece.push('\n');
    }
    match piece.trim() {
        "" => Ok(pieces),
        rest => Err(format!("the text ends with `{rest}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A register of an inner scope is not the register of the same name outside.
    #[test]
    fn inner_registers_hide_outer_ones() {
        let text = ".entry f()\n{\n.reg .b32 %r<3>;\n.reg .b32 t;\nadd.s32 %r1, %r2, t;\n{\n.reg .b32 t;\nmov.u32 t, %r1;\n}\n\
                    {\n.reg .b32 t;\n.reg .b32 %r<2>;\nadd.s32 t, %r1, %r2;\n}\nmov.u32 %r1, t;\n}";
        let program = Program::read(text).unwrap();
        let numbers = |statement: &Statement| -> Vec<usize> {
            let number = |operand: &Operand| if let Operand::Register(number) = operand { *number } else { panic!() };
            statement.operands.iter().map(number).collect()
        };
        let found: Vec<Vec<usize>> = program.functions[0].statements.iter().map(numbers).collect();
        let [r1, r2, t] = found[0][..] else { panic!("three operands") };
        // The inner family has no `%r2`.
        assert_eq!([found[1][1], found[2][2], found[3][0], found[3][1]], [r1, r2, r1, t]);
        let mut others = vec![r1, r2, t, found[1][0], found[2][0], found[2][1]];
        others.sort_unstable();
        others.dedup();
        assert_eq!((others.len(), program.functions[0].registers), (6, 6));
    }

    /// Text that is not understood does not pass for a variable without a size, a public register, or the end of the program.
    #[test]
    fn what_is_not_understood_is_refused() {
        let body = |text: &str| Program::read(&format!(".entry f()\n{{\n.reg .b32 %r<3>;\n{text}\n}}")).err();
        assert_eq!(body(".shared .align 4 .b8 x[16];\nmov.u32 %r1, %tid.x;\nld.shared.u32 %r2, [x+4];"), None);
        for (text, why) in [
            (".reg;", "without a type"),
            (".reg .b32 %r<x>;", "number of registers"),
            (".shared .b8 x[4][4];", "the size"),
            (".shared .v4 .u32 x;", "a vector"),
            (".shared .align y .u32 x;", "the alignment"),
            (".shared .texref x;", "the type"),
            (".shared .b8 x[4];\n.shared .b8 x[8];", "declared twice"),
            ("mov.u32 %r1, %r3;", "`%r3` is no register"),
            ("ld.shared.u32 %r1, [%r2-16];", "`%r2-16` is no register"),
            ("mov.u64 %r1, %clock64;", "`%clock64` is no register"),
        ] {
            let found = body(text).unwrap_or_else(|| panic!("{text} is understood"));
            assert!(found.contains(why), "{text}: {found}");
        }
    }
}
